package dashboard

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A tool may answer with JSON that is short and deep: indented, it would be long beyond all bounds.
func TestWhatIsDeepIsShownAsItStands(t *testing.T) {
	t.Parallel()
	for _, deep := range []string{
		strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		strings.Repeat(`{"a":`, 4000) + "[" + strings.Repeat("1,", 30_000) + "1]" + strings.Repeat("}", 4000),
	} {
		require.Equal(t, deep, pretty([]byte(deep)))
	}
	quoted, err := json.Marshal(map[string]string{"text": strings.Repeat(`[{"\`, 9000)})
	require.NoError(t, err)
	require.Contains(t, pretty(quoted), "{\n  \"text\": ")
}

// TestPrettyIsIndentedJSON: whatever is not deep is indented as JSON is.
func TestPrettyIsIndentedJSON(t *testing.T) {
	t.Parallel()
	var value func(depth int) *rapid.Generator[any]
	value = func(depth int) *rapid.Generator[any] {
		leaf := rapid.OneOf(rapid.String().AsAny(), rapid.Int().AsAny(), rapid.SampledFrom([]any{nil, true, `"[{\`, []any{}, map[string]any{}}))
		if depth == 0 {
			return leaf
		}
		return rapid.OneOf(leaf, rapid.SliceOfN(value(depth-1), 0, 4).AsAny(), rapid.MapOfN(rapid.String(), value(depth-1), 0, 4).AsAny())
	}
	rapid.Check(t, func(rt *rapid.T) {
		data, err := json.Marshal(value(4).Draw(rt, "value"))
		require.NoError(rt, err)
		var want bytes.Buffer
		require.NoError(rt, json.Indent(&want, plainOrder(data), "", "  "))
		require.Equal(rt, want.String(), pretty(data))
		size := indented(plainOrder(data), len(data)*100)
		require.LessOrEqual(rt, want.Len(), size, "never more than was thought")
		require.LessOrEqual(rt, size, 2*want.Len()+100)
	})
}

// An approval is given by what is seen: no character turns the ones behind it around.
func TestArgumentsAreShownInTheOrderThatTheyAreIn(t *testing.T) {
	t.Parallel()
	arguments := []byte(`{"to":"` + "\u202Emoc.live\u202C\u2066" + `"}`)
	shown := pretty(arguments)
	require.Contains(t, shown, `\u202emoc.live\u202c\u2066`)
	require.JSONEq(t, string(arguments), shown)
}
