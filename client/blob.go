package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/pawl-run/pawl/execution"
)

// Blob returns a large result stored beside an execution: one JSON value, whose SHA-256 was compared with hash.
func (c *Client) Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	var content json.RawMessage
	_, err := c.do(ctx, call{
		method: http.MethodGet, path: executionPath(id, "/blobs/"+url.PathEscape(hash)), repeat: true,
	}, &content)
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != hash {
		return nil, execution.NewAPIError(execution.Internal, "the blob is not the one of its hash")
	}
	return content, nil
}
