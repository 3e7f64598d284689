package dashboard

import (
	"encoding/json"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// question is the open interaction as a form.
type question struct {
	execution.Interaction
	Again  bool // it asks what to do about a call whose outcome is unknown
	Calls  []askedCall
	Fields []field // of an elicitation whose schema is plain
	Form   bool    // the elicitation has a schema
	Text   string  // what was filled in
	JSON   string
}

// askedCall is a call that a person decides about, and what was filled in.
type askedCall struct {
	ID                                  execution.CallID
	Name, Hash                          string
	Shown                               string
	Decision, Arguments, Answer, Reason string
	Effect                              string // under which the tool may have seen it, if its outcome is unknown
	Result                              string
	IsError                             bool
}

// field is a field of a form that a schema asks for.
type field struct {
	Name, Label, Description string
	Kind                     string // text, integer, number, boolean or choice
	Choices                  []string
	Required                 bool
	Value                    string
}

func questionOf(id execution.ID, interaction *execution.Interaction) *question {
	q := &question{Interaction: *interaction, Again: interaction.Reason == execution.OutcomeUnknown}
	for _, call := range interaction.Calls {
		text := pretty(call.Arguments)
		asked := askedCall{ID: call.CallID, Name: call.Name, Hash: call.ArgumentsHash, Shown: text, Arguments: text}
		if q.Again {
			asked.Effect = execution.EffectID(id, call.CallID)
		}
		q.Calls = append(q.Calls, asked)
	}
	if len(interaction.Schema) > 0 {
		q.Form, q.JSON = true, "{}"
		q.Fields = fieldsOf(interaction.Schema)
	}
	return q
}

// refill puts back what was filled in.
func (q *question) refill(form url.Values) {
	q.Text = form.Get("text")
	if form.Has("content") {
		q.JSON = form.Get("content")
	}
	for i := range q.Fields {
		q.Fields[i].Value = form.Get("field." + q.Fields[i].Name)
	}
	for i := range q.Calls {
		call := &q.Calls[i]
		id := string(call.ID)
		call.Decision, call.Answer, call.Reason = form.Get("decision."+id), form.Get("answer."+id), form.Get("reason."+id)
		if form.Has("arguments." + id) {
			call.Arguments = form.Get("arguments." + id)
		}
		if form.Get("callId") == id {
			call.Result, call.IsError = form.Get("result"), form.Get("isError") != ""
		}
	}
}

// schema is as much of a JSON Schema as makes plain fields.
type schema struct {
	Type        string            `json:"type"`
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Enum        []json.RawMessage `json:"enum"`
	Default     json.RawMessage   `json:"default"`
	Properties  map[string]schema `json:"properties"`
	Required    []string          `json:"required"`
}

// fieldsOf are the fields of an object whose properties are all plain; nil for any other schema.
func fieldsOf(text json.RawMessage) []field {
	var root schema
	if json.Unmarshal(text, &root) != nil || root.Type != "object" || len(root.Properties) == 0 {
		return nil
	}
	fields := make([]field, 0, len(root.Properties))
	for name, property := range root.Properties {
		f := field{
			Name: name, Label: name, Description: property.Description, Required: slices.Contains(root.Required, name),
			Value: plainText(property.Default),
		}
		if property.Title != "" {
			f.Label = property.Title
		}
		switch {
		case len(property.Enum) > 0 && property.Type == "string":
			f.Kind = "choice"
			for _, choice := range property.Enum {
				f.Choices = append(f.Choices, plainText(choice))
			}
		case property.Type == "string" && len(property.Enum) == 0:
			f.Kind = "text"
		case (property.Type == "integer" || property.Type == "number" || property.Type == "boolean") && len(property.Enum) == 0:
			f.Kind = property.Type
		default:
			return nil
		}
		fields = append(fields, f)
	}
	sort.Slice(fields, func(i, j int) bool {
		if fields[i].Required != fields[j].Required {
			return fields[i].Required
		}
		return fields[i].Name < fields[j].Name
	})
	return fields
}

// plainText is a JSON string without its quotes, and other JSON as it is.
func plainText(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	return string(value)
}

// elicited reads the answer to an elicitation: a text, JSON, or fields.
func elicited(input *execution.Input, form url.Values) (err error) {
	switch form.Get("how") {
	case "decline":
		input.Declined = true
	case "json":
		input.Content, err = jsonOf("content", form.Get("content"))
	case "fields":
		input.Content, err = contentOf(form)
	default:
		input.Text = form.Get("text")
	}
	return err
}

// contentOf builds the object that the fields stand for. What is left empty is left out.
func contentOf(form url.Values) (json.RawMessage, error) {
	content := map[string]any{}
	for _, name := range form["name"] {
		value := form.Get("field." + name)
		kind := form.Get("kind." + name)
		if value == "" && kind != "boolean" {
			continue
		}
		switch kind {
		case "boolean":
			content[name] = value != ""
		case "integer", "number":
			number := json.Number(strings.TrimSpace(value))
			if _, err := strconv.ParseFloat(number.String(), 64); err != nil || !json.Valid([]byte(number)) {
				return nil, invalid("content."+name, "must be a number")
			}
			content[name] = number
		default:
			content[name] = value
		}
	}
	return json.Marshal(content)
}
