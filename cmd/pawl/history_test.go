package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func atLocal(second int) int64 {
	return time.Date(2026, 1, 31, 8, 0, second, 0, time.Local).UnixMilli()
}

func TestWhy_SaysItInLines(t *testing.T) {
	t.Parallel()
	why := execution.Why{
		State: execution.Running, WaitingFor: execution.WaitsForWorker, SinceAtMs: atLocal(0), Detail: "no worker has taken it\nyet",
		Next:  &execution.WhyNext{AtMs: atLocal(70), What: "it is enqueued again"},
		Queue: &execution.WhyQueue{Name: "high-new", Position: 3},
		LastError: &execution.WhyFailure{
			Code: "overloaded", Message: "429\x1b[31m", Attempt: 2, AtMs: atLocal(1),
		},
	}
	var out strings.Builder
	require.NoError(t, tellWhy(streams{out: &out}, anID, why, time.UnixMilli(atLocal(10))))
	require.Equal(t, string(anID)+`  running, waits for worker
why                                no worker has taken it yet
since                              2026-01-31 08:00:00 (10s ago)
next                               2026-01-31 08:01:10 (in 1m 0s): it is enqueued again
queue                              high-new, 3 tasks before it, no live worker serves it
error                              attempt 2, 2026-01-31 08:00:01: overloaded 429[31m
`, out.String())

	fake := newFake(execution.View{})
	fake.why = execution.Why{State: execution.Suspended, WaitingFor: execution.WaitsForResume, Holder: &execution.WhyHolder{WorkerID: "w1", Node: "tool_call"}}
	require.Contains(t, typeCommand(t, fake, true, nil, "why", string(anID)).out, "nothing happens by itself")
	var read execution.Why
	require.NoError(t, json.Unmarshal([]byte(typeCommand(t, fake, true, nil, "why", "--json", string(anID)).out), &read))
	require.Equal(t, fake.why, read)
	fake.why = execution.Why{State: execution.Completed, WaitingFor: execution.WaitsForNothing}
	require.Equal(t, string(anID)+"  completed\n", typeCommand(t, fake, true, nil, "why", string(anID)).out)
}

func TestMessages_PrintsTheHistory(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	call := execution.ToolCall{CallID: "call_0_0", Name: "lookup", Arguments: json.RawMessage(`{"city": "Oslo"}`)}
	refused := execution.ErrorResult(call, execution.ToolRejected, "no")
	refused.Blob = &execution.BlobRef{Hash: "5d0f", Size: 9}
	refused.Arguments = json.RawMessage(`{"city": "Bergen"}`)
	fake.messages = []execution.MessagePage{
		{Messages: []execution.HistoryMessage{
			{Message: execution.Message{Role: execution.RoleUser, Text: "Oslo,\nplease \x1b[31m\n"}},
			{Index: 1, Message: execution.Message{Role: execution.RoleAssistant, Text: "Looking.", ToolCalls: []execution.ToolCall{call}}},
		}, NextFrom: 2, HasMore: true},
		{Messages: []execution.HistoryMessage{
			{Index: 2, Message: execution.Message{Role: execution.RoleTool, ToolResult: &refused}},
			{Index: 3, Message: execution.Message{Role: execution.RoleUser, Parts: []execution.Part{
				{Type: execution.PartText, Text: "this one"},
				{Type: execution.PartImage, MediaType: "image/png", Data: "1234"},
				{Type: execution.PartImageURL, URL: "https://example.com/a.png"},
			}}},
		}, NextFrom: 4},
	}
	got := typeCommand(t, fake, true, nil, "messages", string(anID))
	require.Equal(t, result{out: `#0 user
  Oslo,
  please [31m
#1 assistant
  Looking.
  calls lookup  call_0_0  {"city": "Oslo"}
#2 tool  lookup  call_0_0  failed: rejected
  called with what a person gave: {"city": "Bergen"}
  "no"
  (9 bytes, stored as 5d0f)
#3 user
  this one
  [image/png, 4 bytes of base64]
  [image_url https://example.com/a.png]
`}, got)
	require.Equal(t, []string{"messages 0 100", "messages 2 100"}, fake.calls)

	fake = newFake(execution.View{})
	page := execution.MessagePage{Messages: make([]execution.HistoryMessage, 2), NextFrom: 9, HasMore: true}
	fake.messages = []execution.MessagePage{page, page}
	got = typeCommand(t, fake, true, nil, "messages", "--from", "7", "--limit", "3", "--json", string(anID))
	require.Equal(t, 4, strings.Count(got.out, "\n"))
	require.Equal(t, []string{"messages 7 3", "messages 9 1"}, fake.calls)
}

func TestCheckpoints_PrintsATable(t *testing.T) {
	t.Parallel()
	const startMs = 1_764_420_000_000
	checkpoints := []execution.Checkpoint{
		{Node: "run_start", Evidence: json.RawMessage(`{}`), Forkable: true, CommittedAtMs: startMs},
		{Step: 1, Node: "prepare_model_request", Evidence: json.RawMessage(`{}`), CommittedAtMs: startMs + 9000, ClaimedAtMs: startMs + 7750},
		{Step: 2, Node: "tool_return", Evidence: json.RawMessage(`{}`), CommittedAtMs: startMs + 11_000, ClaimedAtMs: startMs + 7750},
		{
			Step: 11, Node: "before_model_request", Turn: 2, Usage: execution.Usage{TotalTokens: 1234}, CommittedAtMs: startMs + 12_000,
			Evidence: json.RawMessage(`{"status":"waiting","cursor":{"messageCursor":3}}`),
		},
	}
	fake := newFake(execution.View{})
	fake.checkpoints = []execution.CheckpointPage{{Checkpoints: checkpoints, NextFrom: 12}}
	times := strings.NewReplacer("<0>", instant(startMs), "<9>", instant(startMs+9000), "<11>", instant(startMs+11_000),
		"<12>", instant(startMs+12_000))
	require.Equal(t, result{out: times.Replace(strings.TrimPrefix(`
STEP  NODE                   TURN  STATUS   WRITTEN              TOOK   REQUESTS  TOKENS  MESSAGES  FORK
0     run_start              0              <0>         0         0       0         yes
1     prepare_model_request  0              <9>  1.25s  0         0       0
2     tool_return            0              <11>  2s     0         0       0
11    before_model_request   2     waiting  <12>         0         1234    3
`, "\n"))}, typeCommand(t, fake, false, nil, "checkpoints", string(anID)))
	fake.checkpoints = []execution.CheckpointPage{{Checkpoints: checkpoints, NextFrom: 12}}
	got := typeCommand(t, fake, false, nil, "checkpoints", "--from", "3", "--json", string(anID))
	require.Equal(t, 4, strings.Count(got.out, `"node":`))
	require.Equal(t, 2, strings.Count(got.out, `"claimedAtMs":`))
	require.Equal(t, []string{"checkpoints 0 100", "checkpoints 3 100"}, fake.calls)
}

func TestShow_PrintsTheView(t *testing.T) {
	t.Parallel()
	view := question(execution.Elicitation)
	view.Agent, view.Metadata, view.Usage.Requests = "demo", map[string]string{"b": "2", "a": "1"}, 1
	got := typeCommand(t, newFake(view), true, nil, "show", string(anID))
	for _, want := range []string{"waiting_for_input", "demo", "a=1", "answer with", "1 request, 0+0 tokens, 0 tool calls"} {
		require.Contains(t, got.out, want)
	}
	require.Less(t, strings.Index(got.out, "a=1"), strings.Index(got.out, "b=2"))
	var read execution.View
	require.NoError(t, json.Unmarshal([]byte(typeCommand(t, newFake(view), true, nil, "show", "--json", string(anID)).out), &read))
	require.Equal(t, anID, read.ID)
	view = execution.View{State: execution.Completed, Outcome: &execution.Outcome{Answer: "Booked.\nEnjoy."}}
	require.True(t, strings.HasSuffix(typeCommand(t, newFake(view), true, nil, "show", string(anID)).out, "\nBooked.\nEnjoy.\n"))
}

func TestAgentsList(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	fake.agents = []execution.AgentSummary{
		{ID: "demo", Backend: "local", Capabilities: execution.Capabilities{Overrides: true, Decisions: true}}, {ID: "旅行", Backend: "a2a"},
	}
	require.Equal(t, result{out: "ID    BACKEND  TAKES\ndemo  local    decisions, overrides\n旅行  a2a\n"}, typeCommand(t, fake, false, nil, "agents", "list"))
	require.Equal(t, 2, strings.Count(typeCommand(t, fake, false, nil, "agents", "list", "--json").out, `"backend":`))
}

func TestCompletion_KnowsAgentsAndIDs(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	fake.agents = []execution.AgentSummary{{ID: "demo"}, {ID: "other"}}
	require.Equal(t, "demo\n:4\n", typeCommand(t, fake, false, nil, "__complete", "submit", "de").out)
	fake.pages = []execution.ListPage{{Executions: listedViews()}}
	require.Contains(t, typeCommand(t, fake, false, nil, "__complete", "cancel", "exec_2").out, "exec_2\twaiting_for_input Book it?")
	require.Equal(t, ":4\n", typeCommand(t, fake, false, nil, "__complete", "cancel", "exec_2", "").out)
	require.Equal(t, "", strings.ReplaceAll(typeCommand(t, fake, false, nil, "__complete", "keys", "revoke", "").out, ":0\n", ""))
	require.Contains(t, typeCommand(t, fake, false, nil, "__complete", "list", "--state", "").out, "waiting_for_input\n")
	require.Contains(t, typeCommand(t, fake, false, nil, "completion", "bash").out, "__start_pawl")
}
