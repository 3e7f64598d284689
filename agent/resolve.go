package agent

import (
	"fmt"
	"regexp"
	"strings"
)

const variable = `[A-Za-z_][A-Za-z0-9_]*`

var (
	variableName = regexp.MustCompile(`^` + variable + `$`)
	// wholeReference is one reference and nothing around it: how a file may hold a secret.
	wholeReference = regexp.MustCompile(`^\$\{` + variable + `\}$`)
)

// Resolve puts the program's own environment in place of every `${NAME}` in s. Its errors name a missing variable or say
// that a reference is malformed, and never show a value or the text around it. A `$` without `{` is left alone.
func Resolve(s string, lookup func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "${")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed || !variableName.MatchString(name) {
			return "", fmt.Errorf("malformed reference: want ${NAME} with letters, digits and _")
		}
		value, ok := lookup(name)
		if !ok {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		b.WriteString(value)
		s = after
	}
}

// hasReference reports whether s holds a reference, well-formed or not.
func hasReference(s string) bool { return strings.Contains(s, "${") }

// checkReferences reports a malformed reference; whether the variables are set is not the file's business.
func checkReferences(s string) error {
	_, err := Resolve(s, func(string) (string, bool) { return "", true })
	return err
}
