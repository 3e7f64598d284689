package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// shape refuses a value that the protocol does not have at a place. at names the place.
type shape func(at string, value any) error

// field is a part of an object. Those of other names are passed over.
type field struct {
	name     string
	shape    shape
	required bool
}

// paramsShape is what the parameters of a method look like; nil for a method that has none.
func paramsShape(method string) shape {
	task := []field{{name: "id", shape: isText}, metadata}
	switch method {
	case a2arpc.Send, a2arpc.Stream:
		return object(
			field{name: "message", shape: messageShape},
			field{name: "configuration", shape: object(
				field{name: "blocking", shape: isBool}, field{name: "historyLength", shape: isWhole},
				field{name: "acceptedOutputModes", shape: listOf(isText)}, field{name: "pushNotificationConfig", shape: pushShape},
			)}, metadata,
		)
	case a2arpc.Get:
		return object(append(task, field{name: "historyLength", shape: isWhole})...)
	case a2arpc.Cancel, a2arpc.Resubscribe, a2arpc.PushList:
		return object(task...)
	case a2arpc.PushGet, a2arpc.PushDelete:
		return object(append(task, field{name: "pushNotificationConfigId", shape: isText})...)
	case a2arpc.PushSet:
		return object(
			field{name: "taskId", shape: isText, required: true},
			field{name: "pushNotificationConfig", shape: pushShape, required: true},
		)
	default:
		return nil
	}
}

var metadata = field{name: "metadata", shape: object()}

// messageShape is a message. What it must say, and who, checkMessage knows.
func messageShape(at string, value any) error {
	return object(
		field{name: "kind", shape: isOneOf("message")}, field{name: "messageId", shape: isText}, field{name: "role", shape: isText},
		field{name: "parts", shape: listOf(partShape)}, field{name: "taskId", shape: isText}, field{name: "contextId", shape: isText},
		field{name: "referenceTaskIds", shape: listOf(isText)}, field{name: "extensions", shape: listOf(isText)}, metadata,
	)(at, value)
}

// partShape is a part of a message, which its kind tells from others.
func partShape(at string, value any) error {
	const kinds = `"text", "data" or "file"`
	if err := object(metadata)(at, value); err != nil {
		return err
	}
	part, _ := value.(map[string]any) // it is one
	switch kind := part["kind"]; kind {
	case "text":
		return object(field{name: "text", shape: isText, required: true})(at, value)
	case "data":
		return object(field{name: "data", shape: object(), required: true})(at, value)
	case "file":
		return object(field{name: "file", shape: fileShape, required: true})(at, value)
	case nil:
		return bad(at+".kind", "is required: "+kinds)
	default:
		if name, is := kind.(string); is {
			return bad(at+".kind", "must be %s, not %.64q", kinds, name)
		}
		return bad(at+".kind", "must be %s, not %s", kinds, described(kind))
	}
}

func fileShape(at string, value any) error {
	err := object(
		field{name: "bytes", shape: isText}, field{name: "uri", shape: isText}, field{name: "mimeType", shape: isText},
		field{name: "name", shape: isText},
	)(at, value)
	if err != nil {
		return err
	}
	file, _ := value.(map[string]any) // it is one
	there := func(name string) bool { return file[name] != nil && file[name] != "" }
	if there("bytes") == there("uri") {
		return bad(at, "must have bytes or uri, one of them")
	}
	return nil
}

func pushShape(at string, value any) error {
	return object(
		field{name: "id", shape: isText}, field{name: "url", shape: isText}, field{name: "token", shape: isText},
		field{name: "authentication", shape: object(
			field{name: "schemes", shape: listOf(isText)}, field{name: "credentials", shape: isText},
		)},
	)(at, value)
}

// object is an object with these fields. One that is null is not there.
func object(fields ...field) shape {
	return func(at string, value any) error {
		values, is := value.(map[string]any)
		if !is {
			return bad(at, "must be an object, not %s", described(value))
		}
		for _, f := range fields {
			place := strings.TrimPrefix(at+"."+f.name, ".")
			value := values[f.name]
			if value == nil {
				if f.required {
					return bad(place, "is required")
				}
				continue
			}
			if err := f.shape(place, value); err != nil {
				return err
			}
		}
		return nil
	}
}

func listOf(each shape) shape {
	return func(at string, value any) error {
		values, is := value.([]any)
		if !is {
			return bad(at, "must be a list, not %s", described(value))
		}
		for i, value := range values {
			if err := each(fmt.Sprintf("%s[%d]", at, i), value); err != nil {
				return err
			}
		}
		return nil
	}
}

func isText(at string, value any) error {
	if _, is := value.(string); !is {
		return bad(at, "must be text, not %s", described(value))
	}
	return nil
}

func isOneOf(text string) shape {
	return func(at string, value any) error {
		if value != text {
			return bad(at, "must be %q", text)
		}
		return nil
	}
}

func isBool(at string, value any) error {
	if _, is := value.(bool); !is {
		return bad(at, "must be true or false, not %s", described(value))
	}
	return nil
}

func isWhole(at string, value any) error {
	number, is := value.(json.Number)
	if !is {
		return bad(at, "must be a whole number, not %s", described(value))
	}
	if _, err := strconv.ParseInt(number.String(), 10, 32); err != nil {
		return bad(at, "must be a whole number, not %.64s", number.String())
	}
	return nil
}

// described is what a value is, in words.
func described(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "text"
	case []any:
		return "a list"
	default:
		return "an object"
	}
}

// checkParams refuses parameters that are not those of the method, and names the field that is wrong.
func checkParams(method string, params json.RawMessage) error {
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.UseNumber()
	var values any
	if err := decoder.Decode(&values); err != nil {
		return fmt.Errorf("%w: params must be an object", sdk.ErrInvalidParams)
	}
	if _, is := values.(map[string]any); !is {
		return fmt.Errorf("%w: params must be an object", sdk.ErrInvalidParams)
	}
	if shape := paramsShape(method); shape != nil {
		return shape("", values)
	}
	return nil
}
