//go:build faultpoint

package fault

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// everyKind has one batch with a call of each kind of tool and each recovery class. The MCP servers are bridges to the
// tool server, so that everything is counted in one place.
const everyKind = `
agents:
  every:
    model:
      provider: scripted
      turns:
        - toolCalls: [$CALLS]
        - {text: "Done."}
    tools:
      - {name: read, type: http, url: "$TOOLS/read", recovery: read_only, timeout: 120s}
      - {name: idem, type: http, url: "$TOOLS/idem", recovery: idempotent, timeout: 120s}
      - {name: early, type: http, url: "$TOOLS/early", recovery: reconcile, probe: {url: "$TOOLS/probe/early"}, timeout: 120s}
      - {name: late, type: http, url: "$TOOLS/late", recovery: reconcile, probe: {url: "$TOOLS/probe/late"}, timeout: 120s}
      - {name: ask, type: http, url: "$TOOLS/ask", timeout: 120s}
      - {name: tell, type: http, url: "$TOOLS/tell", onUnknown: tell_model, timeout: 120s}
      - {name: first, type: http, url: "$TOOLS/first", onUnknown: tell_model, timeout: 120s}
      - {name: io, type: mcp, $IO, trustHints: true, onUnknown: tell_model, timeout: 120s}
      - {name: raw, type: mcp, $RAW, onUnknown: tell_model, timeout: 120s}
      - {name: web, type: mcp, url: "$WEB", trustHints: true, onUnknown: tell_model, timeout: 120s}
      - {name: far, type: mcp, url: "$FAR", timeout: 120s}
      - {name: gated, type: http, url: "$TOOLS/gated", approval: always, onUnknown: tell_model, timeout: 120s}
      - {name: later, type: http, url: "$TOOLS/later", recovery: idempotent, timeout: 120s}
      - {name: confirm, type: human}
      - {name: pick, type: client}
`

// sent is how often a call reaches its server in all, by what was killed where.
type sent struct {
	name, path                                   string
	planned, marked, inFlight, effected, receipt int
}

// sends is the table of the recovery classes. An unsafe call that was marked is never sent again on its own; what was
// asked about is approved after marked, and answered or rejected after the others.
func sends() []sent {
	return []sent{
		{"read", "/read", 1, 1, 2, 2, 1},
		{"idem", "/idem", 1, 1, 2, 2, 1},
		{"early", "/early", 1, 1, 1, 1, 1}, // has its effect when it arrives, and its probe says so
		{"late", "/late", 1, 1, 2, 1, 1},   // has its effect when it answers
		{"ask", "/ask", 1, 1, 1, 1, 1},
		{"tell", "/tell", 1, 0, 1, 1, 1},
		{"first", "/first", 1, 0, 1, 1, 1},     // answers at once: in flight it has its receipt
		{"io_read", "/io/read", 1, 1, 2, 2, 1}, // over standard input and output, hints trusted
		{"io_idem", "/io/idem", 1, 1, 2, 2, 1},
		{"io_plain", "/io/plain", 1, 0, 1, 1, 1},
		{"raw_read", "/raw/read", 1, 0, 1, 1, 1}, // its hint is not trusted: unsafe
		{"web_read", "/web/read", 1, 1, 2, 2, 1}, // over HTTP, hints trusted
		{"web_idem", "/web/idem", 1, 1, 2, 2, 1},
		{"web_plain", "/web/plain", 1, 0, 1, 1, 1},
		{"far_read", "/far/read", 1, 1, 1, 1, 1}, // its hint is not trusted, and it asks
		{"gated", "/gated", 1, 1, 1, 1, 1},       // sent when a person has approved it, behind the others
		{"later", "/later", 1, 1, 2, 2, 2},       // its result comes later; that it will is kept with the commit
	}
}

// moment is where the worker is killed in the life of the batch.
type moment struct {
	name  string
	point string // the fault point; empty: killed from outside, in flight
	// hold makes the first try of every call but first wait for what opens the gate, or for its connection to end.
	hold     bool
	count    func(sent) int
	asked    []string // the calls that a person is asked about because their outcome is unknown
	decision execution.Decision
	// answers is how many questions are answered before the worker dies.
	answers int
}

func moments() []moment {
	unknown := []string{"ask", "far_read"}
	return []moment{
		{name: "planned and not marked", point: "claimed:tool_call", count: func(s sent) int { return s.planned }},
		{
			name: "marked and not sent", point: "tool_started", count: func(s sent) int { return s.marked },
			asked: unknown, decision: execution.Decision{Decision: execution.Approve},
		},
		{
			name: "in flight", hold: true, count: func(s sent) int { return s.inFlight },
			asked: unknown, decision: execution.Decision{Decision: execution.Answer, Answer: json.RawMessage(`{"from":"a person"}`)},
		},
		{
			// The first calls to come back are the questions of confirm and pick.
			name: "behind the effect and before the receipt", point: "tool_sent#3", hold: true, count: func(s sent) int { return s.effected },
			asked: unknown, decision: execution.Decision{Decision: execution.Reject, Reason: "it did not happen"},
		},
		{
			name: "behind the receipts and before the commit", point: "before_commit:tool_return",
			count: func(s sent) int { return s.receipt },
		},
		{name: "behind an approval", point: "claimed:tool_return", count: once, answers: 1},
		{name: "behind an answer to a question", point: "claimed:tool_return#2", count: once, answers: 2},
		{name: "behind a result that the client owed", point: "claimed:tool_return#3", count: once, answers: 3},
	}
}

func once(sent) int { return 1 }

// Cases B1, B5, B6 and B7: whatever kind of tool a killed worker was calling, and wherever in the call it was, the call
// follows its recovery class, with the same effect id; a call with a receipt is never entered again.
func TestCasesB1B5B6B7_AWorkerKilledInACallOfAnyKindFollowsItsRecoveryClass(t *testing.T) {
	t.Parallel()
	for _, m := range moments() {
		t.Run("killed "+m.name, func(t *testing.T) {
			t.Parallel()
			m.play(t)
		})
	}
}

func (m moment) play(t *testing.T) {
	t.Helper()
	tools := harness.Tools(t)
	gate := m.behave(tools)
	stack := harness.New(t, harness.Config{Agents: kindsFile(t, tools)})
	api := stack.API()
	stack.Reaper()
	env := map[string]string{}
	if m.point != "" {
		env = harness.AtFault(m.point)
	}
	victim := stack.Worker(env)
	id := api.Submit("every", "Do it all.").ID
	people := &people{decision: m.decision, unknown: map[string]int{}, answered: map[string]int{}}
	switch {
	case m.answers > 0:
		for range m.answers {
			people.answer(t, api, api.AwaitState(id, endTimeout, execution.WaitingForInput))
		}
		victim.WaitFault(m.point)
	case m.hold:
		for _, call := range sends() {
			if call.name != "gated" {
				tools.WaitCalls(t, endTimeout, call.path, 1)
			}
		}
		harness.Eventually(t, endTimeout, "the call that answers at once has its receipt", func() bool {
			return m.point != "" || returned(api.Events(id), "first")
		})
		if close(gate); m.point == "" {
			victim.Kill()
		} else {
			victim.WaitFault(m.point)
		}
	default:
		victim.WaitFault(m.point)
	}
	stack.Worker()
	for {
		view := api.AwaitState(id, endTimeout, execution.WaitingForInput, execution.Completed)
		if view.State == execution.Completed {
			break
		}
		people.answer(t, api, view)
	}
	m.check(t, api, tools, id, people)
}

// behave makes the tools behave. What holds until the gate is closed answers then only when the worker is killed by its
// fault point; else it never does.
func (m moment) behave(tools *harness.ToolServer) (gate chan struct{}) {
	gate = make(chan struct{})
	for _, call := range sends() {
		status, answer := http.StatusOK, `{"ok":true}`
		if call.name == "later" {
			status, answer = http.StatusAccepted, `{"deferred":true}`
		}
		held := m.hold && call.name != "gated" && (call.name != "first" || m.point != "")
		tools.Behave(call.path, func(ctx context.Context, c harness.ToolCall) (int, string) {
			if c.Attempt > 1 || !held {
				return status, answer
			}
			if m.point == "" {
				return harness.Hang(ctx, c)
			}
			select {
			case <-gate:
			case <-ctx.Done():
			}
			return status, answer
		})
	}
	for _, name := range []string{"early", "late"} {
		tools.Behave("/probe/"+name, func(context.Context, harness.ToolCall) (int, string) {
			for _, call := range tools.Calls("/" + name) {
				if name == "early" || m.point != "" { // a call that never answered had no effect
					return http.StatusOK, `{"state":"done","result":{"callId":"` + string(call.CallID) + `"}}`
				}
			}
			return http.StatusOK, `{"state":"absent"}`
		})
	}
	return gate
}

func kindsFile(t *testing.T, tools *harness.ToolServer) string {
	t.Helper()
	var calls []string
	for _, call := range sends() {
		calls = append(calls, "{name: "+call.name+", arguments: {}}")
	}
	calls = append(calls, `{name: confirm, arguments: {question: "Go on?"}}`, "{name: pick, arguments: {}}")
	return strings.NewReplacer(
		"$CALLS", strings.Join(calls, ", "), "$TOOLS", tools.URL,
		"$IO", harness.MCPCommand(t, tools, "/io"), "$RAW", harness.MCPCommand(t, tools, "/raw"),
		"$WEB", harness.MCPOverHTTP(t, tools, "/web"), "$FAR", harness.MCPOverHTTP(t, tools, "/far"),
	).Replace(everyKind)
}

func returned(events []execution.Event, name string) bool {
	for _, event := range events {
		if done, ok := event.Payload.(*execution.ToolCompleted); ok && done.Name == name {
			return true
		}
	}
	return false
}

// people answer whatever is asked, and note what that was.
type people struct {
	decision execution.Decision // about calls whose outcome is unknown
	unknown  map[string]int     // by call, those included
	answered map[string]int     // the other questions, by call
}

// answer answers the open interaction and waits until that is taken.
func (p *people) answer(t *testing.T, api *harness.API, view execution.View) {
	t.Helper()
	open, noted := view.Interaction, p.answered
	calls := open.Calls
	switch {
	case open.Reason == execution.OutcomeUnknown:
		noted = p.unknown
		api.Decide(view, p.decision)
	case open.Kind == execution.Approval:
		api.Decide(view, execution.Decision{Decision: execution.Approve})
	case open.Kind == execution.Elicitation:
		api.Reply(view, "yes")
	case open.Kind == execution.ClientToolResult:
		calls = open.Calls[:1] // one at a time: the rest is asked for again
		api.Input(view.ID, "result-"+string(calls[0].CallID), execution.Input{
			Type: execution.ToolResultInput, CallID: calls[0].CallID, Result: json.RawMessage(`{"picked":"A"}`),
		})
	default:
		require.Fail(t, "not expected", "%+v", open)
	}
	for _, call := range calls {
		noted[call.Name]++
	}
	harness.Eventually(t, endTimeout, "the answer is taken", func() bool {
		now := api.Get(view.ID)
		return now.Interaction == nil || now.Interaction.RequestID != open.RequestID
	})
}

func (m moment) check(t *testing.T, api *harness.API, tools *harness.ToolServer, id execution.ID, people *people) {
	t.Helper()
	require.Equal(t, m.asked, slices.Sorted(maps.Keys(people.unknown)), "asked about because the outcome is unknown")
	require.Equal(t, map[string]int{"gated": 1, "confirm": 1, "pick": 1, "later": 1}, people.answered,
		"case K2: what was answered is not asked again")
	events := api.Events(id)
	harness.CheckLog(t, id, events)
	require.Equal(t, 1, harness.CountWarnings(events, execution.WarningReclaimed))
	want, got := map[string]int{}, map[string]int{}
	for _, call := range sends() {
		want[call.name], got[call.name] = m.count(call), len(tools.Calls(call.path))
		for _, try := range tools.Calls(call.path) {
			require.Equal(t, execution.EffectID(try.Execution, try.CallID), try.Key, "case B7: the same key, however often")
		}
	}
	require.Equal(t, want, got, "how often each call was sent")
}
