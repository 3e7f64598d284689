package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
)

// object is a JSON object that keeps the order in which it was written.
type object struct {
	keys   []string
	values map[string]any
}

func newObject(pairs ...any) *object {
	o := &object{values: map[string]any{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func (o *object) set(key string, value any) {
	if _, there := o.values[key]; !there {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) take(key string) any {
	value := o.values[key]
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	return value
}

// at is the object under the keys; one that is empty when there is none.
func (o *object) at(keys ...string) *object {
	for _, key := range keys {
		inner, is := o.values[key].(*object)
		if !is {
			return newObject()
		}
		o = inner
	}
	return o
}

func (o *object) text(key string) string {
	text, _ := o.values[key].(string)
	return text
}

func (o *object) list(key string) []any {
	list, _ := o.values[key].([]any)
	return list
}

// copied is a copy whose own keys can be changed.
func (o *object) copied() *object {
	own := newObject()
	for _, key := range o.keys {
		own.set(key, o.values[key])
	}
	return own
}

// MarshalJSON keeps the order.
func (o *object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := plainJSON(key)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(o.values[key])
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// plainJSON is JSON in which < and > stay readable.
func plainJSON(value any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// ordered turns what the YAML reader gives into objects, lists and scalars.
func ordered(value any) any {
	switch value := value.(type) {
	case yaml.MapSlice:
		o := newObject()
		for _, item := range value {
			o.set(fmt.Sprint(item.Key), ordered(item.Value))
		}
		return o
	case map[string]any: // an empty one
		o := newObject()
		for key, inner := range value {
			o.set(key, ordered(inner))
		}
		return o
	case []any:
		list := make([]any, 0, len(value))
		for _, inner := range value {
			list = append(list, ordered(inner))
		}
		return list
	default:
		return value
	}
}
