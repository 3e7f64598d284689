package openapi

import (
	"fmt"
	"strings"
)

// typeOf is how a schema is written in a table.
func typeOf(schema *object) typeRef {
	if pointer := schema.text("$ref"); pointer != "" {
		name := pointer[strings.LastIndex(pointer, "/")+1:]
		return typeRef{Name: name, Anchor: "type-" + name}
	}
	if value, is := schema.values["const"]; is {
		return typeRef{Name: fmt.Sprintf("%q", fmt.Sprint(value))}
	}
	if choices := schema.list("oneOf"); len(choices) > 0 {
		return typeRef{Name: "one of " + fmt.Sprint(len(choices)) + " types"}
	}
	if items := schema.at("items"); len(items.keys) > 0 {
		t := typeOf(items)
		t.Before = "array of " + t.Before
		t.After += bounds(schema, "minItems", "maxItems", " items")
		return t
	}
	t := typeRef{Name: schema.text("type")}
	if t.Name == "" {
		t.Name = "any JSON"
	}
	t.After = bounds(schema, "minLength", "maxLength", " characters") + bounds(schema, "minimum", "maximum", "") +
		bounds(schema, "", "maxProperties", " fields")
	if words := schema.list("enum"); len(words) > 0 {
		texts := make([]string, 0, len(words))
		for _, word := range words {
			texts = append(texts, fmt.Sprint(word))
		}
		t.After += ": " + strings.Join(texts, ", ")
	}
	if pattern := schema.text("pattern"); pattern != "" {
		t.After += " like " + pattern
	}
	if value, is := schema.values["default"]; is {
		t.After += fmt.Sprintf("; %v if absent", value)
	}
	return t
}

// bounds are those of a schema, in words.
func bounds(schema *object, lowest, highest, unit string) string {
	low, hasLow := schema.values[lowest]
	high, hasHigh := schema.values[highest]
	switch {
	case hasLow && hasHigh:
		return fmt.Sprintf(", %v to %v%s", low, high, unit)
	case hasLow:
		return fmt.Sprintf(", %v%s or more", low, unit)
	case hasHigh:
		return fmt.Sprintf(", at most %v%s", high, unit)
	default:
		return ""
	}
}
