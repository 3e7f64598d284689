package httpapi

import (
	"net/url"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// paramTypes is which types of event and frame a stream carries. It is part of the address, so that whoever comes back asks
// for the same.
const paramTypes = "types"

// filter is the types of event and frame that a stream carries; nil: all of them.
type filter map[string]bool

// types reads the filter of a stream.
func types(query url.Values) (filter, error) {
	if !query.Has(paramTypes) {
		return nil, nil
	}
	known := knownTypes()
	wanted := make(filter)
	for one := range strings.SplitSeq(query.Get(paramTypes), ",") {
		if !slices.Contains(known, one) {
			return nil, invalid(paramTypes, "want types of events and frames, among %s", strings.Join(known, ", "))
		}
		wanted[one] = true
	}
	return wanted, nil
}

func knownTypes() []string {
	var known []string
	for _, of := range execution.EventTypes() {
		known = append(known, string(of))
	}
	for _, of := range execution.FrameTypes() {
		known = append(known, string(of))
	}
	return known
}

// carries reports whether the stream carries the item. What cannot be read may be an event of any type, also the last one, so
// that it passes every filter.
func (f filter) carries(item execution.StreamItem) bool {
	if f == nil {
		return true
	}
	if item.Frame != nil {
		return f[string(item.Frame.Type)]
	}
	of := item.Event.Payload.EventType()
	return of == execution.TypeUnreadable || f[string(of)]
}

// ends reports whether the item ends the stream of one execution, which is told whatever the filter says.
func ends(item execution.StreamItem) bool {
	return item.Event != nil && item.Event.Payload.EventType().Terminal()
}
