package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/pawl-run/pawl/execution"
)

// Bulk cancels or resumes the executions that pass a filter, as many as one call may; see link.RuntimeLink. It is repeated
// when the answer is lost; what the lost one changed is then not counted as changed.
func (c *Client) Bulk(ctx context.Context, request execution.BulkRequest) (execution.BulkResult, error) {
	var result execution.BulkResult
	_, err := c.do(ctx, call{method: http.MethodPost, path: "/v1/executions/bulk", body: request, repeat: true}, &result)
	return result, err
}

// AllBulk is Bulk to the last execution that passes the filter, as the sequence of what each call did; the request's limit
// is that of each call. An error is the last pair, and what was done before it stays done. Leaving the loop stops there.
func (c *Client) AllBulk(ctx context.Context, request execution.BulkRequest) iter.Seq2[execution.BulkResult, error] {
	return pages(func() ([]execution.BulkResult, bool, error) {
		result, err := c.Bulk(ctx, request)
		request.Cursor = result.NextCursor
		return []execution.BulkResult{result}, request.Cursor != "", err
	})
}
