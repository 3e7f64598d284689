package executor

import (
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

var updateStored = flag.Bool("update-stored", false, "write testdata/stored.golden anew")

// What workers store has the shape that it had: a field that is renamed or gone would be lost to what rests, a new one to workers of
// the release before. docs/adr/0019-stored-formats.md says what a change needs. Then write the file with -update-stored, and another
// fixture with make fixture.
func TestWhatIsStoredHasItsShape(t *testing.T) {
	t.Parallel()
	var state RunState
	var result execution.ToolResult
	var message execution.Message
	var child journal.ChildResult
	var input execution.Input
	for _, value := range []any{&state, &result, &message, &child, &input} {
		fill(t, reflect.ValueOf(value).Elem())
	}
	state.Status, child.Type = StatusFailed, journal.ChildResultType
	checkpoint, err := NewCheckpoint(7, ToolReturn, state).WithStreamCursor(7).WithMetadata(Metadata{"k": "v"}).Encode()
	require.NoError(t, err)
	plan, err := newPlan("exec", execution.ToolCall{CallID: "c", Name: "n", Arguments: []byte(`{}`), ProviderID: "p"})
	require.NoError(t, err)
	receipt, err := encodeReceipt(result)
	require.NoError(t, err)
	cleanup, err := encodeCleanup("agent", 7, state.Remote.State)
	require.NoError(t, err)
	lines := []string{
		"checkpoint " + string(checkpoint), "intent " + string(plan.Intent), "receipt " + string(receipt), "cleanup " + string(cleanup),
	}
	for name, value := range map[string]any{"message": message, "child": child, "input": input} {
		data, err := json.Marshal(value)
		require.NoError(t, err)
		lines = append(lines, name+" "+string(data))
	}
	slices.Sort(lines)
	const golden = "testdata/stored.golden"
	if *updateStored {
		require.NoError(t, os.WriteFile(golden, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), strings.Join(lines, "\n")+"\n", "see docs/adr/0019-stored-formats.md")
}
