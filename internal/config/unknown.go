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
	for _, program := range []any{&API{}, &Worker{}, &Reaper{}, &Dev{}, &Client{}} {
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
		if near := nearest(name, known); near != "" {
			hint = ": did you mean " + near + "?"
		}
		problems = append(problems, fmt.Errorf("%s: no program of Pawl knows this name%s", name, hint))
	}
	return problems
}

// nearest is the known name closest to name, empty when none is close.
func nearest(name string, known []string) string {
	best, least := "", len(name)/3
	for _, candidate := range known {
		if d := distance(strings.TrimPrefix(name, prefix), strings.TrimPrefix(candidate, prefix)); d <= least {
			if d < least || best == "" {
				best, least = candidate, d
			}
		}
	}
	return best
}

// distance is the number of single-character edits between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
