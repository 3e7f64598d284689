package dashboard

import "slices"

// keyed is a line of the key below a picture.
type keyed struct{ Kind, Text string }

// keyOf says what the kinds of bars mean that a picture has.
func keyOf(bars []bar) []keyed {
	all := []keyed{
		{"node", "a node"},
		{"pause", "in the queue, waiting, or tried in vain"},
		{"model", "a model request"},
		{"tool", "a tool call at work"},
		{"waiting", "waits for a person or a result"},
		{"suspended", "suspended"},
		{"failed", "a tool call that failed"},
	}
	return slices.DeleteFunc(all, func(line keyed) bool {
		return !slices.ContainsFunc(bars, func(b bar) bool { return b.Kind == line.Kind })
	})
}
