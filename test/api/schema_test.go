package api

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"strings"

	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

// maker makes values that fit schemas of the document.
type maker struct {
	document map[string]any
	random   *rand.Rand
}

// value makes one that fits the schema. Every optional property is there with the given chance.
func (m *maker) value(schema any, chance float64) any {
	s := openapitest.Resolve(m.document, schema)
	if value, is := s["const"]; is {
		return value
	}
	if words, is := s["enum"].([]any); is {
		return words[m.random.IntN(len(words))]
	}
	if choices, is := s["oneOf"].([]any); is {
		return m.value(choices[m.random.IntN(len(choices))], chance)
	}
	switch s["type"] {
	case "object":
		return m.object(s, chance)
	case "array":
		most := min(number(s, "maxItems", 3), 3)
		list := []any{}
		for range max(number(s, "minItems", 0), m.random.IntN(most+1)) {
			list = append(list, m.value(s["items"], chance))
		}
		return list
	case "string":
		return m.text(s)
	case "integer":
		least, most := number(s, "minimum", 0), number(s, "maximum", 1000)
		return least + m.random.IntN(min(most-least, 1000)+1)
	case "number":
		return m.random.Float64() * float64(number(s, "maximum", 1))
	case "boolean":
		return m.random.IntN(2) == 0
	default: // any JSON but null
		return []any{"yes", 7, map[string]any{"ok": true}, []any{1, 2}}[m.random.IntN(4)]
	}
}

func (m *maker) object(s map[string]any, chance float64) any {
	object := map[string]any{}
	required := map[any]bool{}
	list, _ := s["required"].([]any)
	for _, name := range list {
		required[name] = true
	}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		if required[name] || m.random.Float64() < chance {
			object[name] = m.value(properties[name], chance)
		}
	}
	if more, is := s["additionalProperties"].(map[string]any); is {
		for i := range m.random.IntN(3) {
			object[fmt.Sprintf("key%d", i)] = m.value(more, chance)
		}
	}
	return object
}

// text makes one of a few characters, within the bounds.
func (m *maker) text(s map[string]any) string {
	if pattern, is := s["pattern"].(string); is {
		if examples, is := s["examples"].([]any); is && m.random.IntN(2) == 0 {
			return examples[m.random.IntN(len(examples))].(string)
		}
		for range 100 {
			text := m.matching(pattern)
			if n := len(text); n >= number(s, "minLength", 0) && n <= number(s, "maxLength", n) && text != "" {
				return text
			}
		}
	}
	least := number(s, "minLength", 0)
	length := max(least, min(number(s, "maxLength", 20), 1+m.random.IntN(20)))
	letters := []rune("abcdefghij klmnopqrstuvwxyz-ÆØÅ…7")
	var text strings.Builder
	text.WriteByte('t')
	for range length - 1 {
		text.WriteRune(letters[m.random.IntN(len(letters))])
	}
	return strings.TrimSpace(text.String())
}

// matching makes a text that a regular expression matches.
func (m *maker) matching(pattern string) string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err) // the document is compiled elsewhere
	}
	var out strings.Builder
	m.write(&out, parsed)
	return out.String()
}

func (m *maker) write(out *strings.Builder, r *syntax.Regexp) {
	times := func(least, most int) {
		for range least + m.random.IntN(most-least+1) {
			m.write(out, r.Sub[0])
		}
	}
	switch r.Op {
	case syntax.OpLiteral:
		out.WriteString(string(r.Rune))
	case syntax.OpCharClass:
		pair := m.random.IntN(len(r.Rune)/2) * 2
		low, high := r.Rune[pair], r.Rune[pair+1]
		if low < ' ' || high > '~' { // of a class of all but a few, a letter will do
			low, high = 'a', 'z'
		}
		out.WriteRune(low + m.random.Int32N(high-low+1))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		out.WriteRune('a' + m.random.Int32N(26))
	case syntax.OpConcat:
		for _, sub := range r.Sub {
			m.write(out, sub)
		}
	case syntax.OpAlternate:
		m.write(out, r.Sub[m.random.IntN(len(r.Sub))])
	case syntax.OpCapture:
		m.write(out, r.Sub[0])
	case syntax.OpStar:
		times(0, 3)
	case syntax.OpPlus:
		times(1, 4)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		most := r.Max
		if most < 0 || most > r.Min+12 {
			most = r.Min + 12
		}
		times(r.Min, most)
	default: // beginnings and ends
	}
}

// number is a bound of a schema.
func number(s map[string]any, name string, absent int) int {
	if n, is := s[name].(float64); is {
		return int(n)
	}
	return absent
}
