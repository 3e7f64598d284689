package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// maxFieldName bounds how much of a client's own field name an error repeats.
const maxFieldName = 64

// decodeStrict decodes one JSON object into out, a pointer to a struct. Unlike encoding/json it refuses, naming the
// field by its path: fields it does not know (names are compared exactly), fields given twice, null, values of another
// type, what is no Unicode, and anything behind the object.
func decodeStrict(body []byte, out any) error {
	if !utf8.Valid(body) {
		return invalid(fieldBody, "must be valid UTF-8")
	}
	var whole json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return syntax(err)
	}
	if at := loneSurrogate(body); at >= 0 {
		return invalid(fieldBody, "must be valid Unicode: there is half of a surrogate pair at byte %d", at)
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := shape(decoder, reflect.TypeOf(out).Elem(), ""); err != nil {
		return err
	}
	if err := complete(body, reflect.TypeOf(out).Elem()); err != nil {
		return err
	}
	if err := json.Unmarshal(body, out); err != nil {
		if named := new(execution.APIError); errors.As(err, &named) {
			return named
		}
		return invalid(fieldBody, "cannot be decoded").Because(err)
	}
	return nil
}

func syntax(err error) error {
	var at *json.SyntaxError
	if errors.As(err, &at) {
		return invalid(fieldBody, "is not one JSON value: %v at byte %d", at, at.Offset).Because(err)
	}
	return invalid(fieldBody, "is not JSON").Because(err)
}

// shape walks one value that is known to be well-formed and compares it with the type it is to become.
func shape(decoder *json.Decoder, t reflect.Type, path string) error {
	t = jsonType(t)
	if t == reflect.TypeFor[json.RawMessage]() {
		return skip(decoder, path)
	}
	token, err := decoder.Token()
	if err != nil {
		return invalid(nameOf(path), "cannot be read").Because(err)
	}
	switch t.Kind() {
	case reflect.Struct:
		return object(decoder, token, path, func(name string) (reflect.Type, error) { return fieldType(t, path, name) })
	case reflect.Map:
		return object(decoder, token, path, func(string) (reflect.Type, error) { return t.Elem(), nil })
	case reflect.Slice:
		return array(decoder, token, t.Elem(), path)
	default:
		return scalar(token, t, path)
	}
}

// shaper is a type that is written to JSON as another type.
type shaper interface{ JSONShape() any }

// jsonType is the type whose fields JSON has for t.
func jsonType(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if shaped, ok := reflect.Zero(t).Interface().(shaper); ok {
		return reflect.TypeOf(shaped.JSONShape())
	}
	return t
}

// jsonFields are the fields that JSON has for a struct: those of embedded structs stand among its own.
func jsonFields(t reflect.Type) []reflect.StructField {
	var fields []reflect.StructField
	for field := range t.Fields() {
		if field.Anonymous && field.Tag.Get("json") == "" {
			fields = append(fields, jsonFields(field.Type)...)
			continue
		}
		fields = append(fields, field)
	}
	return fields
}

// object walks the members of an object; typeOf gives their types and refuses the ones that may not be there.
func object(
	decoder *json.Decoder, open json.Token, path string, typeOf func(name string) (reflect.Type, error),
) error {
	if open != json.Delim('{') {
		return invalid(nameOf(path), "must be an object")
	}
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			return invalid(nameOf(path), "cannot be read").Because(err)
		}
		member := join(path, name)
		if seen[name] {
			return invalid(member, "is given twice")
		}
		seen[name] = true
		t, err := typeOf(name)
		if err != nil {
			return err
		}
		if err := shape(decoder, t, member); err != nil {
			return err
		}
	}
	return closing(decoder, path)
}

func array(decoder *json.Decoder, open json.Token, element reflect.Type, path string) error {
	if open != json.Delim('[') {
		return invalid(nameOf(path), "must be an array")
	}
	for i := 0; decoder.More(); i++ {
		if err := shape(decoder, element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return closing(decoder, path)
}

func closing(decoder *json.Decoder, path string) error {
	if _, err := decoder.Token(); err != nil {
		return invalid(nameOf(path), "cannot be read").Because(err)
	}
	return nil
}

// complete refuses a body without a field that its type always has: one that is not marked omitempty; and one with a text
// that is there and empty where its type says that this means nothing. What must be in a field of a field is the link's to say.
func complete(body []byte, t reflect.Type) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return invalid(fieldBody, "cannot be decoded").Because(err)
	}
	for _, field := range jsonFields(t) {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, there := given[name]
		if !there && options == "" {
			return invalid(name, "%s is required", name)
		}
		if there && field.Tag.Get("api") == "nonempty" && string(value) == `""` {
			return invalid(name, "must not be empty: leave it out")
		}
	}
	return nil
}

// fieldType finds the field of that very name. One that another version has, or may have, is refused like a typing
// error: to accept and ignore it would be a lie.
func fieldType(t reflect.Type, path, name string) (reflect.Type, error) {
	known := make([]string, 0, t.NumField())
	for _, field := range jsonFields(t) {
		tag, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if tag == name {
			return field.Type, nil
		}
		known = append(known, tag)
	}
	text := "this version takes no fields here"
	if len(known) > 0 {
		text = "this version has no such field; it has " + strings.Join(known, ", ")
	}
	return nil, execution.NewAPIError(execution.UnknownField, "%s", text).In(join(path, name))
}

func scalar(token json.Token, t reflect.Type, path string) error {
	var fits bool
	want := "a string"
	switch kind := t.Kind(); kind {
	case reflect.String:
		_, fits = token.(string)
	case reflect.Bool:
		want = "true or false"
		_, fits = token.(bool)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		want = "an integer"
		if number, isNumber := token.(json.Number); isNumber {
			_, err := strconv.ParseInt(number.String(), 10, t.Bits())
			fits = err == nil
		}
	case reflect.Uint, reflect.Uint64:
		want = "an integer that is not negative"
		if number, isNumber := token.(json.Number); isNumber {
			_, err := strconv.ParseUint(number.String(), 10, t.Bits())
			fits = err == nil
		}
	case reflect.Float64:
		want = "a number"
		if number, isNumber := token.(json.Number); isNumber {
			_, err := number.Float64()
			fits = err == nil
		}
	default:
		return execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("%s has a field of kind %s", path, kind))
	}
	if !fits {
		return invalid(nameOf(path), "must be %s", want)
	}
	return nil
}

// skip passes over a value of any type but null.
func skip(decoder *json.Decoder, path string) error {
	for depth := 0; ; {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF) || err != nil:
			return invalid(nameOf(path), "cannot be read").Because(err)
		case token == json.Delim('{'), token == json.Delim('['):
			depth++
		case token == json.Delim('}'), token == json.Delim(']'):
			depth--
		case token == nil && depth == 0:
			return invalid(nameOf(path), "must not be null")
		}
		if depth == 0 {
			return nil
		}
	}
}

func join(path, name string) string {
	if utf8.RuneCountInString(name) > maxFieldName {
		name = string([]rune(name)[:maxFieldName]) + "…"
	}
	if name == "" {
		name = `""`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func nameOf(path string) string {
	if path == "" {
		return fieldBody
	}
	return path
}
