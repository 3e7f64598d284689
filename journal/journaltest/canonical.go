package journaltest

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/journal"
)

// tester is what a comparison needs of a test, rapid's included.
type tester interface {
	require.TestingT
	Helper()
}

// canonical is a text of a value in which absent and empty are one: two stores may differ in that and in nothing else.
func canonical(tb tester, value any) string {
	encoded, err := json.Marshal(value)
	require.NoError(tb, err)
	var generic any
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	require.NoError(tb, decoder.Decode(&generic))
	out, err := json.MarshalIndent(prune(generic), "", " ")
	require.NoError(tb, err)
	return string(out)
}

// requireSame fails unless both values have one canonical text. What is equal as it is needs no text, which is most of what is
// compared and would be most of the work.
func requireSame(tb tester, want, got any, format string, args ...any) {
	tb.Helper()
	if reflect.DeepEqual(want, got) {
		return
	}
	require.Equalf(tb, canonical(tb, want), canonical(tb, got), format, args...)
}

// prune drops what is empty.
func prune(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, field := range v {
			if field = prune(field); field != nil {
				out[key] = field
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i := range v {
			v[i] = prune(v[i])
		}
		return v
	case string:
		if v == "" {
			return nil
		}
	case json.Number:
		if v == "0" {
			return nil
		}
	case bool:
		if !v {
			return nil
		}
	}
	return value
}

// rowText is a row as it can be compared.
func rowText(tb tester, row journal.Execution) string {
	return canonical(tb, row)
}
