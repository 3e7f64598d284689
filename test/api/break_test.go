package api

import (
	"maps"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// site is a place in a value that can be made wrong.
type site struct {
	schema map[string]any
	value  any
	set    func(any)
	drop   func() // nil: it is required by nothing
	parent map[string]any
}

// sites are the places of a value that was made for the schema.
func (m *maker) sites(schema, value any, set func(any)) []site {
	s := openapitest.Resolve(m.document, schema)
	if choices, is := s["oneOf"].([]any); is {
		s = m.choice(choices, value)
	}
	found := []site{{schema: s, value: value, set: set}}
	switch value := value.(type) {
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for _, name := range sortedKeys(value) {
			inner := m.sites(properties[name], value[name], func(v any) { value[name] = v })
			if slices.Contains(required, any(name)) {
				inner[0].drop = func() { delete(value, name) }
			}
			found = append(found, inner...)
		}
		found[0].parent = value
	case []any:
		for i := range value {
			found = append(found, m.sites(s["items"], value[i], func(v any) { value[i] = v })...)
		}
	}
	return found
}

// choice is the one that the value was made for: the one with its words and its fields.
func (m *maker) choice(choices []any, value any) map[string]any {
	object, _ := value.(map[string]any)
	best, most := openapitest.Resolve(m.document, choices[0]), -1
	for _, choice := range choices {
		s := openapitest.Resolve(m.document, choice)
		if inner, is := s["oneOf"].([]any); is {
			s = m.choice(inner, value)
		}
		properties, _ := s["properties"].(map[string]any)
		fits := 0
		for name, inner := range object {
			described, known := properties[name].(map[string]any)
			if !known || described["const"] != nil && described["const"] != inner {
				fits = -1
				break
			}
			fits++
		}
		if fits > most {
			best, most = s, fits
		}
	}
	return best
}

// spoil makes one place of a body wrong and says how.
func (m *maker) spoil(schema any, body map[string]any) string {
	places := m.sites(schema, body, func(any) {})
	for range 20 {
		if how := m.spoilOne(places[m.random.IntN(len(places))]); how != "" {
			return how
		}
	}
	body["weather"] = true
	return "an unknown field"
}

func (m *maker) spoilOne(at site) string {
	s := at.schema
	switch m.random.IntN(6) {
	case 0:
		if at.drop == nil {
			return ""
		}
		at.drop()
		return "a field is missing"
	case 1:
		if at.parent == nil || s["additionalProperties"] != false {
			return ""
		}
		at.parent["weather"] = 1
		return "an unknown field"
	case 2:
		if s["type"] == nil && s["const"] == nil {
			return ""
		}
		at.set([]any{map[string]any{"a": 1}})
		return "another type"
	case 3:
		if at.parent != nil {
			return ""
		}
		at.set(nil)
		return "null"
	default:
		return m.beyond(s, at)
	}
}

// beyond takes a value past a bound of its schema.
func (m *maker) beyond(s map[string]any, at site) string {
	switch {
	case s["enum"] != nil || s["const"] != nil:
		at.set("nonsense")
		return "another word"
	case s["pattern"] != nil:
		at.set("\x01 ?")
		return "another pattern"
	case s["maxLength"] != nil && number(s, "maxLength", 0) < 100_000:
		at.set(strings.Repeat("x", number(s, "maxLength", 0)+1))
		return "too long"
	case s["maximum"] != nil:
		at.set(s["maximum"].(float64) + 1)
		return "too much"
	case s["minimum"] != nil:
		at.set(s["minimum"].(float64) - 1)
		return "too little"
	case s["maxItems"] != nil:
		item := m.value(s["items"], 0)
		list := make([]any, number(s, "maxItems", 0)+1)
		for i := range list {
			list[i] = item
		}
		at.set(list)
		return "too many"
	}
	return ""
}
