package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// The marks between which a document's figures stand. What is around them is left as it is.
const (
	beginMark = "<!-- bench:begin -->"
	endMark   = "<!-- bench:end -->"
)

const emptyDocument = "# Performance\n\n" + beginMark + "\n" + endMark + "\n"

// WriteDocument puts the report between the marks of a Markdown file, with the command that made it, and its picture into a
// file beside it. A file that is not there is begun.
func (r *Report) WriteDocument(path, command string) error {
	document, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		document, err = []byte(emptyDocument), nil
	}
	if err != nil {
		return fmt.Errorf("bench: read the document: %w", err)
	}
	before, rest, found := bytes.Cut(document, []byte(beginMark))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !found || !closed {
		return fmt.Errorf("bench: %s has no %s and %s to put the figures between", path, beginMark, endMark)
	}
	picture := strings.TrimSuffix(path, filepath.Ext(path)) + ".svg"
	var b bytes.Buffer
	b.Write(before)
	fmt.Fprintf(&b, "%s\n\nMeasured on %s, in %v, with:\n\n```sh\n%s\n```\n\n![Steps per second](%s)\n\n", beginMark,
		r.Began.UTC().Format("2006-01-02 15:04 MST"), r.Took.Round(time.Second), command, filepath.Base(picture))
	if err := r.Table(&b); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s", endMark)
	b.Write(after)
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("bench: write the document: %w", err)
	}
	if err := os.WriteFile(picture, r.Picture(), 0o644); err != nil {
		return fmt.Errorf("bench: write the picture: %w", err)
	}
	return nil
}
