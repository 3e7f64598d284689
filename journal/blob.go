package journal

import (
	"fmt"
	"regexp"
)

// MaxBlobBytes bounds the content of one blob.
const MaxBlobBytes = 16 << 20

// Blob is a large value that a receipt names. Hash is the SHA-256 of its content in lower-case hex: the same value of one
// execution is stored once. It lives as long as its execution.
type Blob struct {
	Hash    string
	Content []byte
}

var blobHash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// ValidBlobHash reports whether a text can be the hash of a blob.
func ValidBlobHash(hash string) bool { return blobHash.MatchString(hash) }

func checkBlobs(r Record) error {
	if len(r.Blobs) > 0 && r.State != Done {
		return fmt.Errorf("%w: blobs without receipts", ErrConflict)
	}
	for _, blob := range r.Blobs {
		if !ValidBlobHash(blob.Hash) {
			return fmt.Errorf("%w: %q is no hash of a blob", ErrConflict, blob.Hash)
		}
		if n := len(blob.Content); n > MaxBlobBytes {
			return fmt.Errorf("%w: a blob of %d bytes, at most %d", ErrConflict, n, MaxBlobBytes)
		}
	}
	return nil
}
