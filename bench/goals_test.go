package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// found is a result with one goal.
func found(name string, sample float64, goal Goal) Result {
	r := Result{Name: name, Title: "About " + name}
	r.add("figure", "ms", sample)
	r.goal("figure", goal, "how long "+name+" takes")
	return r
}

func TestMissedGoalsAreNamedInWords(t *testing.T) {
	t.Parallel()
	report := Report{Results: []Result{found("handoff", 3, atMost(2)), found("memory", 3, atMost(3)), found("aof", 1, atLeast(1.5))}}
	require.Equal(t, []string{
		"how long handoff takes: 3.00 ms, goal ≤ 2.00 (handoff)",
		"how long aof takes: 1.00 ms, goal ≥ 1.50 (aof)",
	}, report.Missed())
	var table strings.Builder
	require.NoError(t, report.Table(&table))
	require.Contains(t, table.String(), "| how long handoff takes | 3.00 ms | ≤ 2.00 | missed | handoff |")
	require.Contains(t, table.String(), "| how long memory takes | 3.00 ms | ≤ 3.00 | met | memory |")
}

func TestADocumentKeepsWhatIsNotMeasuredAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "figures.md")
	first := Report{Results: []Result{found("handoff", 1, atMost(2)), found("aof", 1, atLeast(1.5))}}
	require.NoError(t, first.WriteDocument(path, "first"))
	second := Report{Results: []Result{found("aof", 7, atLeast(1.5)), found("memory", 4, atMost(5))}}
	require.NoError(t, second.WriteDocument(path, "second"))
	require.Len(t, second.Results, 2, "the report itself stays as it is")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, line := range []string{"how long handoff takes | 1.00 ms", "how long memory takes | 4.00 ms", "how long aof takes | 7.00 ms"} {
		require.Equal(t, 1, strings.Count(string(text), line), line)
	}
	require.Less(t, strings.Index(string(text), "About handoff"), strings.Index(string(text), "About memory"))
	require.Equal(t, 1, strings.Count(string(text), "first\n"), "a measurement that stays keeps its command")
	require.Equal(t, 2, strings.Count(string(text), "second\n"))

	require.NoError(t, os.WriteFile(path, []byte("no marks"), 0o600))
	require.ErrorContains(t, CheckDocument(path), "to put the figures between")
	require.ErrorContains(t, first.WriteDocument(path, "first"), "to put the figures between")
}
