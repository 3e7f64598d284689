package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// form asks for the fields of a schema, one after the other.
type form struct {
	fields []field
	at     int
	values map[string]json.RawMessage
}

type field struct {
	name, kind, about string
	choices           []string
	required          bool
}

// newForm is the form of a schema; nil when there is none, or one whose fields cannot be told.
func newForm(schema json.RawMessage) *form {
	var read struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &read) != nil || len(read.Properties) == 0 {
		return nil
	}
	f := &form{values: map[string]json.RawMessage{}}
	decoder := json.NewDecoder(bytes.NewReader(read.Properties)) // in the schema's order
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for decoder.More() {
		token, err := decoder.Token()
		name, ok := token.(string)
		var property struct {
			Type        string `json:"type"`
			Title       string `json:"title"`
			Description string `json:"description"`
			Enum        []any  `json:"enum"`
		}
		if err != nil || !ok || decoder.Decode(&property) != nil {
			return nil
		}
		next := field{name: name, kind: property.Type, about: property.Description, required: slices.Contains(read.Required, name)}
		if next.about == "" {
			next.about = property.Title
		}
		for _, choice := range property.Enum {
			next.choices = append(next.choices, fmt.Sprint(choice))
		}
		f.fields = append(f.fields, next)
	}
	if len(f.fields) == 0 {
		return nil
	}
	return f
}

// text asks for the field; the question itself stands before the first one.
func (f *form) text(question string) string {
	asked := f.fields[f.at]
	about := []string{}
	if asked.kind != "" {
		about = append(about, asked.kind)
	}
	if len(asked.choices) > 0 {
		about = append(about, "one of "+strings.Join(asked.choices, ", "))
	}
	if !asked.required {
		about = append(about, "may be empty")
	}
	text := clean(asked.name)
	if len(about) > 0 {
		text += " (" + clean(strings.Join(about, "; ")) + ")"
	}
	if asked.about != "" {
		text += " " + oneLine(asked.about)
	}
	if f.at == 0 {
		text = question + "\n" + text
	}
	return text
}

// take reads a field, and says what is wrong with it. Whether it fits its schema, the API finds out.
func (f *form) take(line string) (problem string) {
	asked := f.fields[f.at]
	switch {
	case line == "" && asked.required:
		return clean(asked.name) + " is required; " + decline + " refuses to answer."
	case line == "":
	case asked.kind == "string":
		text, err := json.Marshal(line)
		if err != nil {
			return "That cannot be sent."
		}
		f.values[asked.name] = text
	case asked.kind == "boolean" && slices.Contains([]string{"y", "yes"}, strings.ToLower(line)):
		f.values[asked.name] = json.RawMessage(`true`)
	case asked.kind == "boolean" && slices.Contains([]string{"n", "no"}, strings.ToLower(line)):
		f.values[asked.name] = json.RawMessage(`false`)
	case asked.kind != "" && !json.Valid([]byte(line)):
		return fmt.Sprintf("%s must be a value of type %s.", clean(asked.name), clean(asked.kind))
	default:
		f.values[asked.name] = jsonOrText(line)
	}
	f.at++
	return ""
}

func (f *form) done() bool { return f.at >= len(f.fields) }

// content is what was filled in.
func (f *form) content() json.RawMessage {
	data, err := json.Marshal(f.values)
	if err != nil {
		panic(err) // valid JSON always encodes
	}
	return data
}
