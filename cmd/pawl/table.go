package main

import (
	"io"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// table is text in columns that are as wide as a terminal shows them. Rows may be written in parts: a column never becomes
// narrower.
type table struct {
	rows   [][]string
	widths []int
}

func (t *table) row(cells ...string) {
	t.rows = append(t.rows, cells)
	for i, cell := range cells {
		if i == len(t.widths) {
			t.widths = append(t.widths, 0)
		}
		t.widths[i] = max(t.widths[i], wide(cell))
	}
}

// flush writes the rows that were added since the last time.
func (t *table) flush(out io.Writer) error {
	var text strings.Builder
	for _, row := range t.rows {
		line := ""
		for i, cell := range row {
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", t.widths[i]-wide(cell)+2)
			}
		}
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	t.rows = nil
	_, err := io.WriteString(out, text.String())
	return err
}

// wide is how many places a terminal takes to show a text: two for the wide characters of East Asia and most emoji, none
// for marks that combine with the character before.
func wide(text string) int {
	places := 0
	for _, c := range text {
		places += wideRune(c)
	}
	return places
}

func wideRune(c rune) int {
	if unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(c).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// clip cuts a text of one line to so many places.
func clip(text string, longest int) string {
	text = oneLine(text)
	if wide(text) <= longest {
		return text
	}
	var cut strings.Builder
	places := 1 // of the ellipsis
	for _, c := range text {
		if places += wideRune(c); places > longest {
			break
		}
		cut.WriteRune(c)
	}
	return cut.String() + "…"
}
