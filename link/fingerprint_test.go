package link

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestFingerprintKnowsTheSameSchemaInAnyOrder(t *testing.T) {
	t.Parallel()
	of := func(schema, parameters string) string {
		request := execution.CreateRequest{Agent: "a", Input: execution.Input{Type: "user_message", Text: "<x>"}}
		request.OutputSchema = json.RawMessage(schema)
		request.FrontendTools = []execution.FrontendTool{{Name: "t", Description: "d", Parameters: json.RawMessage(parameters)}}
		sum, err := fingerprint(request)
		require.NoError(t, err)
		return sum
	}
	one := of(`{"type":"object","properties":{"a":{"maximum":9007199254740993,"type":"number"},"b":{}}}`, `{"type":"object","title":"x"}`)
	require.Equal(t, one, of(`{ "properties": {"b":{}, "a":{"type":"number","maximum":9007199254740993}}, "type":"object"}`,
		`{"title":"\u0078","type":"object"}`))
	require.NotEqual(t, one, of(`{"type":"object","properties":{"a":{"maximum":9007199254740992,"type":"number"},"b":{}}}`,
		`{"type":"object","title":"x"}`), "numbers are not rounded")
}
