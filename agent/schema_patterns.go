package agent

import (
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxPatternSize bounds all patterns of a schema, written out: a class of characters that is repeated a thousand times counts a
// thousand times. Thirteen characters of a pattern can ask for 10 KiB of memory, and compiled schemas are kept.
const maxPatternSize = 20_000

// patterns compiles the patterns of one schema, and afterwards each that is a value (format: regex).
type patterns struct {
	left     int
	compiled bool // the schema is
}

// compile implements jsonschema.RegexpEngine.
func (p *patterns) compile(text string) (jsonschema.Regexp, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("read a pattern: %w", err)
	}
	if p.compiled {
		p.left = maxPatternSize
	}
	if p.left -= written(tree); p.left < 0 {
		return nil, fmt.Errorf("the patterns are too large: want at most %d characters and classes, repeats written out", maxPatternSize)
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("read a pattern: %w", err)
	}
	return (*pattern)(compiled), nil
}

// written is how large a pattern is when its repeats are written out. It recurses as deep as package syntax allows.
func written(tree *syntax.Regexp) int {
	size := 1
	if tree.Op == syntax.OpLiteral {
		size = len(tree.Rune)
	}
	for _, part := range tree.Sub {
		size += written(part)
	}
	if tree.Op == syntax.OpRepeat {
		size *= max(tree.Max, tree.Min+1, 1)
	}
	return size
}

// pattern is a pattern that was compiled.
type pattern regexp.Regexp

// MatchString implements jsonschema.Regexp.
func (p *pattern) MatchString(text string) bool { return (*regexp.Regexp)(p).MatchString(text) }

// String implements jsonschema.Regexp.
func (p *pattern) String() string { return (*regexp.Regexp)(p).String() }
