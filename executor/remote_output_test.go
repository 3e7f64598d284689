package executor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

func TestArtifactsAreKeptAsFarAsTheyFit(t *testing.T) {
	t.Parallel()
	plain, data := "text/plain", "application/json"
	long := json.RawMessage(`"` + strings.Repeat("x", maxArtifacts) + `"`)
	output, left, err := structured([]backend.Artifact{{MediaType: &plain, Content: json.RawMessage(`"a"`)}})
	require.NoError(t, err)
	require.Nil(t, output, "the answer has it")
	require.Zero(t, left)
	output, left, err = structured([]backend.Artifact{
		{MediaType: &data, Content: json.RawMessage(`{"a":1}`)}, {Content: long}, {MediaType: &plain, Content: json.RawMessage(`"b"`)},
	})
	require.NoError(t, err)
	require.Equal(t, 1, left)
	require.JSONEq(t, `{"artifacts":[{"mediaType":"application/json","content":{"a":1}},{"content":null,"omittedBytes":262146},
		{"mediaType":"text/plain","content":"b"}]}`, string(output))

	state := handle("t1")
	state.Extensions[backend.OutputStateKey] = json.RawMessage(`{}`)
	require.Same(t, state, withoutLongOutput(state))
	state.Extensions[backend.OutputStateKey] = long
	require.NotContains(t, withoutLongOutput(state).Extensions, backend.OutputStateKey)
	require.Nil(t, withoutLongOutput(nil))
}

// What is nested as deep as a decoder takes could be written, but not be read again inside of a history or a listing.
func TestArtifactsThatAreNestedTooDeepAreLeftOut(t *testing.T) {
	t.Parallel()
	data := "application/json"
	nested := func(depth int) json.RawMessage {
		return json.RawMessage(strings.Repeat("[", depth) + strings.Repeat("]", depth))
	}
	output, left, err := structured([]backend.Artifact{
		{MediaType: &data, Content: nested(9_993)}, {MediaType: &data, Content: nested(maxDepth)},
	})
	require.NoError(t, err)
	require.Equal(t, 1, left)
	require.JSONEq(t, `{"artifacts":[{"mediaType":"application/json","content":null,"omittedBytes":19986},
		{"mediaType":"application/json","content":`+string(nested(maxDepth))+`}]}`, string(output))

	state := handle("t1")
	state.Extensions[backend.OutputStateKey] = nested(9_993)
	require.NotContains(t, withoutLongOutput(state).Extensions, backend.OutputStateKey)
}
