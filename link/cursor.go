package link

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// A cursor is the beginning of a hash of the listing it belongs to, the instant of its mark and the mark's id. It tells
// nothing that was not on the page before it: the hash keeps a cursor from being used for another caller or with other
// filters, where it would silently skip executions.
const (
	cursorOwner = 8
	cursorMark  = cursorOwner + 8
)

func newCursor(listing journal.Listing, mark journal.ListMark) string {
	return encodeCursor(cursorOf(listing), mark)
}

func readCursor(listing journal.Listing, cursor string) (journal.ListMark, error) {
	return decodeCursor(cursorOf(listing), cursor)
}

func encodeCursor(owner []byte, mark journal.ListMark) string {
	text := append([]byte{}, owner...)
	text = binary.BigEndian.AppendUint64(text, uint64(mark.CreatedAtMs))
	return base64.RawURLEncoding.EncodeToString(append(text, mark.ID...))
}

func decodeCursor(owner []byte, cursor string) (journal.ListMark, error) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(text) <= cursorMark {
		return journal.ListMark{}, invalid("cursor", "is none that a page gave")
	}
	id, err := execution.ParseID(string(text[cursorMark:]))
	ms := int64(binary.BigEndian.Uint64(text[cursorOwner:]))
	if err != nil || ms < 0 || ms > maxSequence {
		return journal.ListMark{}, invalid("cursor", "is none that a page gave")
	}
	if !bytes.Equal(text[:cursorOwner], owner) {
		return journal.ListMark{}, invalid("cursor", "belongs to another caller or to other filters")
	}
	return journal.ListMark{CreatedAtMs: ms, ID: id}, nil
}

// cursorOf identifies a listing, whatever the size and the place of its pages.
func cursorOf(listing journal.Listing) []byte {
	listing.After, listing.Limit = nil, 0
	text, err := json.Marshal(listing) // maps in the order of their keys
	if err != nil {
		panic(err) // unreachable: a listing is made of texts and numbers
	}
	sum := sha256.Sum256(text)
	return sum[:cursorOwner]
}
