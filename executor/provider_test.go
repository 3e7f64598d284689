package executor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// What a provider wants back is in the history alone: no event, checkpoint, ledger entry or row has it, and the next
// request does.
func TestProviderStateIsInTheHistoryAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		state := &execution.ProviderState{Name: "anthropic/m", Data: json.RawMessage(`"a secret thought"`)}
		var sent []*execution.ProviderState
		model := fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			for _, message := range request.Messages {
				if message.Role == execution.RoleAssistant {
					sent = append(sent, message.Provider)
				}
			}
			if request.Attempt > 0 {
				return text("done"), nil
			}
			response := calling("lookup")
			response.Provider = state
			return response, nil
		})
		kit := &local.Kit{Model: model, Tools: []local.Tool{tool("lookup", agent.ReadOnly, says("fine"))}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		require.Equal(t, execution.Completed, w.drive().State)
		require.Equal(t, []*execution.ProviderState{state}, sent)
		for key, value := range w.dump() {
			require.Equal(t, strings.HasPrefix(key, "conv:"), strings.Contains(value, "secret"), key)
		}
		for _, event := range w.events() {
			data, err := json.Marshal(event)
			require.NoError(t, err)
			require.NotContains(t, string(data), "secret")
		}
	})
}

func TestOpeningTakesPartsIntoTheHistory(t *testing.T) {
	t.Parallel()
	parts := []execution.Part{{Type: execution.PartText, Text: "What?"}, {Type: execution.PartImage, MediaType: "image/png", Data: "AAAA"}}
	request := execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Parts: parts}}
	checkpoint, _, messages, err := Opening(&agent.Definition{}, request)
	require.NoError(t, err)
	require.NotContains(t, string(checkpoint), "AAAA")
	read, err := decodeMessages(messages)
	require.NoError(t, err)
	require.Equal(t, []execution.Message{{Role: execution.RoleUser, Parts: parts}}, read)
	require.Equal(t, read, repair(read))
}
