package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const prefix = "PAWL_"

// serviceLink matches the names that Kubernetes and Docker put into every container for a service called pawl or
// pawl-something. They are nobody's mistake.
var serviceLink = regexp.MustCompile(`_SERVICE_HOST=|_SERVICE_PORT(_[A-Z0-9_]+)?=|_PORT=(tcp|udp|sctp)://|` +
	`_PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?=`)

// Names lists every name that some program knows, sorted.
func Names() []string {
	var names []string
	for _, program := range []any{&API{}, &Worker{}, &Reaper{}, &Dev{}, &Keys{}, &Doctor{}, &Client{}} {
		names = append(names, namesOf(program)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refuseUnknown reports the PAWL_ names of the environment that no program knows.
func refuseUnknown(environ []string) []error {
	known := Names()
	var problems []error
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) || slices.Contains(known, name) || serviceLink.MatchString(entry) ||
			builtIn(name) {
			continue
		}
		hint := "; -h lists the names"
		if near := nearest(name, known); len(near) > 0 {
			hint = ": did you mean " + strings.Join(near, " or ") + "?"
		}
		problems = append(problems, fmt.Errorf("%s: no program of Pawl knows this name%s", name, hint))
	}
	return problems
}

// nearest lists the known names that are closest to name; none when none is close.
func nearest(name string, known []string) []string {
	name = strings.TrimPrefix(name, prefix)
	var best []string
	least := max(len(name)/3, wordCost)
	for _, candidate := range known {
		near := strings.TrimPrefix(candidate, prefix)
		d := min(edits([]byte(name), []byte(near), one, unequal), wordEdits(name, near))
		if d < least {
			best, least = nil, d
		}
		if d == least {
			best = append(best, candidate)
		}
	}
	return best
}

// wordCost is what a word too many or too few counts, in characters: API_URL is nearer to URL than to API_KEY.
const wordCost = 2

// wordEdits is the number of edits between two names, word by word.
func wordEdits(a, b string) int {
	return edits(strings.Split(a, "_"), strings.Split(b, "_"),
		func(string) int { return wordCost },
		func(a, b string) int { return edits([]byte(a), []byte(b), one, unequal) })
}

func one(byte) int { return 1 }

func unequal(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}

// edits is the least sum of edits that makes b of a: add is the price of an item more or less, replace that of another in
// its place.
func edits[T any](a, b []T, add func(T) int, replace func(a, b T) int) int {
	row := make([]int, len(b)+1)
	for j := range b {
		row[j+1] = row[j] + add(b[j])
	}
	for i := range a {
		diagonal := row[0]
		row[0] += add(a[i])
		for j := range b {
			other := diagonal + replace(a[i], b[j])
			diagonal = row[j+1]
			row[j+1] = min(other, row[j]+add(b[j]), row[j+1]+add(a[i]))
		}
	}
	return row[len(b)]
}
