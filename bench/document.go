package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The marks between which a document's figures stand. What is around them is left as it is.
const (
	beginMark = "<!-- bench:begin -->"
	endMark   = "<!-- bench:end -->"
)

const emptyDocument = "# Performance\n\n" + beginMark + "\n" + endMark + "\n"

// WriteDocument puts the report between the marks of a Markdown file, with the command that made it, its picture into a file
// beside it, and every sample into another one. What that one holds of measurements that this report lacks stays. A file that
// is not there is begun.
func (r *Report) WriteDocument(path, command string) error {
	before, after, err := documentAround(path)
	if err != nil {
		return err
	}
	base := strings.TrimSuffix(path, filepath.Ext(path))
	whole := *r
	whole.Results = slices.Clone(r.Results)
	for i := range whole.Results {
		whole.Results[i].Command = command
	}
	if err := whole.mergeFile(base + ".json"); err != nil {
		return err
	}
	var b bytes.Buffer
	b.Write(before)
	fmt.Fprintf(&b, "%s\n\nEach measurement below names the command that made it; the last one was made on %s.\n\n![Steps per second](%s)\n\n",
		beginMark, r.Began.UTC().Format("2006-01-02 15:04 MST"), filepath.Base(base+".svg"))
	if err := whole.Table(&b); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s", endMark)
	b.Write(after)
	samples, err := json.MarshalIndent(&whole, "", " ")
	if err != nil {
		return fmt.Errorf("bench: write the samples: %w", err)
	}
	for name, content := range map[string][]byte{
		base + ".json": append(samples, '\n'), base + ".svg": whole.Picture(), path: b.Bytes(),
	} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			return fmt.Errorf("bench: write the document: %w", err)
		}
	}
	return nil
}

// CheckDocument says why WriteDocument could not write there.
func CheckDocument(path string) error {
	_, _, err := documentAround(path)
	return err
}

// documentAround is what stands before and after the figures.
func documentAround(path string) (before, after []byte, err error) {
	document, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		document, err = []byte(emptyDocument), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bench: read the document: %w", err)
	}
	before, rest, found := bytes.Cut(document, []byte(beginMark))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !found || !closed {
		return nil, nil, fmt.Errorf("bench: %s has no %s and %s to put the figures between", path, beginMark, endMark)
	}
	return before, after, nil
}

// mergeFile merges the report of a file, if there is one.
func (r *Report) mergeFile(path string) error {
	samples, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var older Report
	if err == nil {
		err = json.Unmarshal(samples, &older)
	}
	if err != nil {
		return fmt.Errorf("bench: read the samples of earlier measurements in %s: %w", path, err)
	}
	r.Merge(&older)
	return nil
}
