package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const publishedAgents = `
agents:
  booker:
    publish: {description: Books trips.}
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked."}
    tools: [{name: confirm, type: human}]
`

const distantAgents = `
agents:
  travel:
    backend: a2a
    endpoint: {url: "$PEER/a2a", target: booker, poll: 200ms}
`

const remoteTimeout = 60 * time.Second

// Two installations: the agent of the one is a remote agent of the other, which asks the person there what the first one asks.
func TestAnInstallationCarriesOutTheAgentOfAnother(t *testing.T) {
	t.Parallel()
	there := harness.New(t, harness.Config{Tag: "none", Agents: publishedAgents})
	theirs := there.API(map[string]string{"PAWL_A2A": "1"})
	there.Worker()
	there.Reaper()
	here := shipped(t, strings.ReplaceAll(distantAgents, "$PEER", theirs.URL))
	ours := here.API()
	here.Worker()
	here.Reaper()

	asked := ours.AwaitState(ours.Submit("travel", "Oslo, please").ID, remoteTimeout, execution.WaitingForInput)
	require.Equal(t, "Book it?", asked.Interaction.Prompt)
	require.Equal(t, execution.Elicitation, asked.Interaction.Kind)
	require.True(t, containsLine(read(t, ours.URL+"/metrics"), "pawl_remote_runs 1"), "a question keeps the run open")
	ours.Reply(asked, "yes")
	booked := ours.AwaitState(asked.ID, remoteTimeout, execution.Completed)
	require.Equal(t, "Booked.", booked.Outcome.Answer)

	asked = ours.AwaitState(ours.Submit("travel", "Bergen, please").ID, remoteTimeout, execution.WaitingForInput)
	ours.Cancel(asked.ID)
	ours.AwaitState(asked.ID, remoteTimeout, execution.Canceled)
	listed := list(t, theirs)
	require.Len(t, listed, 2, "one execution there for each one here")
	theirs.AwaitState(listed[0].ID, remoteTimeout, execution.Canceled)
	theirs.AwaitState(listed[1].ID, remoteTimeout, execution.Completed)
	harness.Eventually(t, remoteTimeout, "no run is open any more", func() bool {
		return containsLine(read(t, ours.URL+"/metrics"), "pawl_remote_runs 0")
	})
}

// list are the executions of an API, the newest first.
func list(t *testing.T, api *harness.API) []execution.View {
	t.Helper()
	answer, err := api.Do(t.Context(), http.MethodGet, "/v1/executions", nil, nil)
	require.NoError(t, err)
	var page execution.ListPage
	require.NoError(t, json.Unmarshal(answer.Body, &page))
	return page.Executions
}
