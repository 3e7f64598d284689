package agent

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// join is the path of key below path.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// object reads the keys of one mapping, notes which were asked for, and reports the others as unknown.
type object struct {
	*problems
	node  *node
	path  string
	asked map[string]bool // true: belongs here; false: refused with a message of its own
}

// objectAt reads n as a mapping; nil after a problem.
func objectAt(p *problems, n *node, path string) *object {
	if n.kind != mapNode {
		p.add(n.line, path, "must be a mapping, not %s", n.kind)
		return nil
	}
	return &object{problems: p, node: n, path: path, asked: map[string]bool{}}
}

// get is the value of key, nil when it is not there.
func (o *object) get(key string) *node {
	o.asked[key] = true
	for _, e := range o.node.entries {
		if e.key == key {
			return e.value
		}
	}
	return nil
}

func (o *object) has(key string) bool {
	for _, e := range o.node.entries {
		if e.key == key {
			return true
		}
	}
	return false
}

// bad adds a problem with the value of key, or with the mapping when key is not there.
func (o *object) bad(key, format string, args ...any) {
	line := o.node.line
	for _, e := range o.node.entries {
		if e.key == key {
			line = e.value.line
		}
	}
	o.add(line, join(o.path, key), format, args...)
}

// refuseUnknown reports the keys that nobody asked for: by name, and those of later releases as such.
func (o *object) refuseUnknown(later ...string) {
	known := make([]string, 0, len(o.asked))
	for key, belongs := range o.asked {
		if belongs {
			known = append(known, key)
		}
	}
	slices.Sort(known)
	if o.known != nil {
		o.known(o.path, known)
	}
	for _, e := range o.node.entries {
		path := join(o.path, e.key)
		_, asked := o.asked[e.key]
		switch {
		case asked:
		case slices.Contains(later, e.key):
			o.add(e.line, path, "is not supported by this version")
		default:
			o.add(e.line, path, "unknown key; known are %s", strings.Join(known, ", "))
		}
	}
}

// text is the text of key; present is false when it is not there or, after a problem, no text.
func (o *object) text(key string) (value string, present bool) {
	n := o.get(key)
	if n == nil {
		return "", false
	}
	if n.kind != stringNode {
		hint := ""
		if n.kind == numberNode || n.kind == boolNode {
			hint = "; put it in quotes"
		}
		o.bad(key, "must be text, not %s%s", n.kind, hint)
		return "", false
	}
	return n.text, true
}

// required is text that must be there and not be empty.
func (o *object) required(key string) (string, bool) {
	if !o.has(key) {
		o.get(key)
		o.bad(key, "is required")
		return "", false
	}
	value, ok := o.text(key)
	if ok && strings.TrimSpace(value) == "" {
		o.bad(key, "must not be empty")
		return "", false
	}
	return value, ok
}

// choice is text that must be one of choices; fallback when it is not there.
func (o *object) choice(key, fallback string, choices ...string) string {
	value, ok := o.text(key)
	if !ok {
		return fallback
	}
	if !slices.Contains(choices, value) {
		o.bad(key, "must be one of %s, not %q", strings.Join(choices, ", "), value)
		return fallback
	}
	return value
}

// duration is a duration such as 200ms or 24h that is longer than nothing; fallback when it is not there.
func (o *object) duration(key string, fallback time.Duration) time.Duration {
	n := o.get(key)
	if n == nil {
		return fallback
	}
	if n.kind != stringNode {
		o.bad(key, "must be a duration such as 200ms, 30s or 24h, not %s", n.kind)
		return fallback
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		o.bad(key, "must be a duration such as 200ms, 30s or 24h, not %q", n.text)
		return fallback
	}
	if d <= 0 {
		o.bad(key, "must be longer than 0")
		return fallback
	}
	return d
}

// millis is a duration of whole milliseconds; 0 when it is not there.
func (o *object) millis(key string) time.Duration {
	d := o.duration(key, 0)
	if d%time.Millisecond != 0 {
		o.bad(key, "must be whole milliseconds")
	}
	return d
}

// count is a whole number that is not negative; fallback when it is not there.
func (o *object) count(key string, fallback int64) int64 {
	n := o.get(key)
	if n == nil {
		return fallback
	}
	if n.kind != numberNode {
		o.bad(key, "must be a whole number, not %s", n.kind)
		return fallback
	}
	value, err := n.number.Int64()
	switch {
	case err != nil:
		o.bad(key, "must be a whole number that fits 64 bits, not %s", n.number)
	case value < 0:
		o.bad(key, "must not be negative")
	default:
		return value
	}
	return fallback
}

// small is a count that fits an int of 32 bits.
func (o *object) small(key string, fallback int) int {
	value := o.count(key, int64(fallback))
	if value > math.MaxInt32 {
		o.bad(key, "is too large")
		return fallback
	}
	return int(value)
}

// list is the items of key; nil when it is not there or, after a problem, no list.
func (o *object) list(key string) []*node {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != listNode {
		o.bad(key, "must be a list, not %s", n.kind)
		return nil
	}
	return n.items
}

// child is the mapping of key; nil when it is not there or, after a problem, no mapping.
func (o *object) child(key string) *object {
	n := o.get(key)
	if n == nil {
		return nil
	}
	return objectAt(o.problems, n, join(o.path, key))
}

// json is any value of key as canonical JSON; nil when it is not there.
func (o *object) json(key string) json.RawMessage {
	n := o.get(key)
	if n == nil {
		return nil
	}
	raw, err := encode(n.json())
	if err != nil {
		o.bad(key, "cannot be written as JSON: %s", err)
		return nil
	}
	return raw
}

// item is the path of entry number i of the list at key.
func (o *object) item(key string, i int) string { return fmt.Sprintf("%s[%d]", join(o.path, key), i) }
