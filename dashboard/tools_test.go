package dashboard_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

// card is what the page says of one call.
func card(t *testing.T, page string, call execution.CallID) string {
	t.Helper()
	found := regexp.MustCompile(`(?s)<li class="card" id="` + string(call) + `">.*?</li>`).FindString(page)
	require.NotEmpty(t, found, "%s is not on the page", call)
	return found
}

func TestToolCallsAreShownAsTheLedgerHasThem(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	id := s.create(local, "hello")
	v := &visitor{site: s}
	require.Contains(t, v.page(at(id, "/tools")), "No tool was called yet.")

	w := linktest.Claim(t, s.store, id)
	w.Plan("call_0_0", "call_0_1", "call_0_2", "call_0_3", "call_0_4")
	w.Start("call_0_0", "call_0_1")
	child := w.Spawn("call_0_2")
	w.Receive("call_0_3", `{"callId":"call_0_3","name":"refund","content":{"paid":7},"arguments":{"b":2}}`, false)
	w.Receive("call_0_4", `{"callId":"call_0_4","name":"refund","content":"<no>","isError":true,"errorKind":"execution",`+
		`"blob":{"hash":"`+strings.Repeat("ab", 32)+`","size":123456}}`, true)
	w.Replan([]journal.Plan{{CallID: "call_1_0", Intent: []byte(`{"arguments":{"q":"<b>"}}`)}},
		&execution.ToolStarted{CallID: "call_1_0", Name: "later"})
	w.Ask(linktest.Unknown("question")) // about call_0_0 and call_0_1
	page := v.page(at(id, "/tools"))
	require.NotContains(t, page, "toolu_hidden")
	require.NotContains(t, page, "<b>\"}")

	unknown := card(t, page, "call_0_0")
	require.Contains(t, unknown, "outcome unknown")
	require.Contains(t, unknown, "look for its effect id")
	require.Contains(t, unknown, execution.EffectID(id, "call_0_0"))
	require.Contains(t, unknown, "never carried out again by itself")
	planned := card(t, page, "call_0_2")
	require.Contains(t, planned, `<span class="tag">planned</span>`)
	require.Contains(t, planned, `href="/dashboard/executions/`+string(child)+`"`)
	require.Contains(t, planned, "done when its child has ended")
	done := card(t, page, "call_0_3")
	require.Contains(t, done, `<span class="tag good">done</span>`)
	require.Contains(t, done, "ms later", "what it waited for is in it")
	require.Contains(t, done, "A person gave the arguments.")
	require.Contains(t, done, "&#34;paid&#34;: 7")
	require.NotContains(t, done, "may have begun")
	failed := card(t, page, "call_0_4")
	require.Contains(t, failed, "done: failed")
	require.Contains(t, failed, "&lt;no&gt;")
	require.Contains(t, failed, `href="/v1/executions/`+string(id)+`/blobs/`)
	require.Contains(t, card(t, page, "call_1_0"), "does not say its class")

	question := v.page(at(id, ""))
	require.Contains(t, question, `<code class="effect">`+execution.EffectID(id, "call_0_0")+`</code>`, "what to look for in the tool")

	_, err := local.Cancel(t.Context(), id)
	require.NoError(t, err)
	page = v.page(at(id, "/tools"))
	require.Contains(t, card(t, page, "call_0_0"), "Whether it had an effect is not known.")
	require.Contains(t, card(t, page, "call_0_0"), `<span class="tag">started</span>`)
	require.Contains(t, card(t, page, "call_0_2"), "The execution ended before the call was done.")
}

// long is an execution with many turns of ten calls each, and a newest checkpoint that knows how long its log is.
func (s *site) long(turns int) execution.ID {
	s.t.Helper()
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	w := linktest.Claim(s.t, s.store, id)
	for turn := range turns {
		calls := make([]execution.CallID, 10)
		for i := range calls {
			calls[i] = execution.CallID(fmt.Sprintf("call_%d_%d", turn, i))
		}
		w.Plan(calls...)
		for _, call := range calls {
			w.Receive(call, `{"content":1}`, false)
		}
	}
	w.Checkpoint(fmt.Sprintf(`{"v":1,"evidence":{"cursor":{"streamCursor":%d}}}`, len(linktest.Log(s.t, s.store, id))))
	return id
}

func TestOfManyToolCallsTheLastAreShownAndTheRestIsAPageAway(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.long(60) // 600 calls, 1,202 events
	v := &visitor{site: s}
	shown := func(page string) (first, last string, n int) {
		all := regexp.MustCompile(`<li class="card" id="(call_\d+_\d)">`).FindAllStringSubmatch(page, -1)
		return all[0][1], all[len(all)-1][1], len(all)
	}
	page := v.page(at(id, "/tools"))
	_, last, _ := shown(page)
	require.Equal(t, "call_59_9", last)
	require.Contains(t, page, "The first calls")
	require.Contains(t, page, "data-live=")
	page = v.page(at(id, "/tools?after=0"))
	first, last, n := shown(page)
	require.Equal(t, []any{"call_0_0", "call_19_9", 200}, []any{first, last, n})
	require.NotContains(t, page, "data-live=", "what is not at the end is not followed")
	later := regexp.MustCompile(`href="([^"]*/tools\?after=\d+)">Later calls`).FindStringSubmatch(page)
	require.NotEmpty(t, later)
	first, _, _ = shown(v.page(later[1]))
	require.Equal(t, "call_20_0", first)
	require.Contains(t, v.page(at(id, "/tools?after=900")), `/tools?after=700">Earlier calls`)
	require.Equal(t, 409, v.get(at(id, "/tools?after=99999")).StatusCode)
	require.Equal(t, 400, v.get(at(id, "/tools?after=x")).StatusCode)
}

// TestThePageOfToolCallsCostsTheSameHoweverManyThereAre counts the commands of Redis.
func TestThePageOfToolCallsCostsTheSameHoweverManyThereAre(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Start(t).Client(t), false)
	v := &visitor{site: s}
	few, many := s.long(40), s.long(400)
	for _, query := range []string{"", "?after=0", "?after=402"} {
		costs := v.costs([]string{at(few, "/tools"+query), at(many, "/tools"+query)})
		t.Logf("/tools%s: %d commands with 400 calls, %d with 4,000", query, sum(costs[0].calls), sum(costs[1].calls))
		require.Equal(t, costs[0].calls, costs[1].calls, query)
	}
}
