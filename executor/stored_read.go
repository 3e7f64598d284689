package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// newerError is the error of a record of a later release. It is an ErrCheckpoint too: for whoever only shows it, it cannot be
// read.
type newerError struct{ what, why string }

// Error says what was written, and how that is known.
func (e *newerError) Error() string { return e.what + " " + execution.ErrNewer.Error() + ": " + e.why }

// Unwrap is execution.ErrNewer and ErrCheckpoint.
func (e *newerError) Unwrap() []error { return []error{execution.ErrNewer, ErrCheckpoint} }

// newer reports a record of a version above the newest one that this release reads.
func newer(what string, version, newest int) error {
	return &newerError{what, fmt.Sprintf("its version is %d, and %d is the newest that this one reads", version, newest)}
}

// checkVersion tells a record of a later release, by its v. No v is that of the first release.
func checkVersion(what string, version, newest int) error {
	if version > newest {
		return newer(what, version, newest)
	}
	return nil
}

// unread is the error of a record that could not be decoded: newer by its v, else damaged.
func unread(what string, data []byte, newest int, err error) error {
	var head struct {
		V int `json:"v"`
	}
	if json.Unmarshal(data, &head) == nil && head.V > newest {
		return newer(what, head.V, newest)
	}
	return fmt.Errorf("%w: %s: %w", ErrCheckpoint, what, err)
}

// strictDecoder is a decoder of a stream of records that is fed one record at a time: as long as each one is read to its end it
// can be used again, with its buffer.
type strictDecoder struct {
	feed bytes.Reader
	*json.Decoder
}

// keptRecord bounds the record, in bytes, whose decoder is used again.
const keptRecord = 64 << 10

// strictDecoders holds nothing that anybody could see: each one is between two records.
var strictDecoders = sync.Pool{New: func() any {
	d := &strictDecoder{}
	d.Decoder = json.NewDecoder(&d.feed)
	d.DisallowUnknownFields()
	return d
}}

// decodeWhole reads one JSON value and refuses fields that it does not know: whoever goes on from a record and writes the
// next one would lose them.
func decodeWhole(data []byte, into any) error {
	d, _ := strictDecoders.Get().(*strictDecoder)
	began := d.InputOffset()
	d.feed.Reset(data)
	err := d.Decode(into)
	if err != nil {
		return err
	}
	rest := data[d.InputOffset()-began:]
	d.feed.Reset(nil)
	if len(rest) == 0 && len(data) <= keptRecord {
		strictDecoders.Put(d)
	}
	if len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("trailing bytes")
	}
	return nil
}

// unknownField reports what decodeWhole says of a field that it does not know, also of one in limits. There is no error of its
// own for that.
func unknownField(err error) bool {
	return err != nil && strings.Contains(err.Error(), "json: unknown field ")
}
