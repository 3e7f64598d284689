package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// maxProblems bounds how many problems one error reports; the rest is counted.
const maxProblems = 50

// Problem is one thing wrong with an agent file.
type Problem struct {
	File    string
	Line    int    // from 1; 0 when the problem is about the whole file
	Path    string // the key, as in agents.demo.tools[0].url; empty when the problem is about the whole file
	Message string
}

// String is "file:line: path: message" without the parts that are not known.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Path != "" {
		b.WriteString(": " + p.Path)
	}
	return b.String() + ": " + p.Message
}

// FileError is everything wrong with an agent file, in the order of its lines. It never shows a header's value or a URL.
type FileError struct {
	Problems []Problem
	More     int // problems that were found and left out
}

// Error is one line per problem.
func (e *FileError) Error() string {
	lines := make([]string, 0, len(e.Problems)+1)
	for _, problem := range e.Problems {
		lines = append(lines, problem.String())
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []Problem
	// known is told the keys that a mapping may have. Only tests set it.
	known func(path string, keys []string)
}

func (p *problems) add(line int, path, format string, args ...any) {
	p.list = append(p.list, Problem{File: p.file, Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// err is nil when nothing was added.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	kept := min(len(p.list), maxProblems)
	return &FileError{Problems: p.list[:kept:kept], More: len(p.list) - kept}
}
