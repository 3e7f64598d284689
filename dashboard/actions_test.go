package dashboard_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// acting is a visitor, the link of the same person, and an execution that somebody may act on.
type acting struct {
	*visitor
	t    *testing.T
	link link.RuntimeLink
}

func act(t *testing.T) acting {
	t.Helper()
	s := open(t, redistest.Shared(t).Client(t), false)
	return acting{&visitor{site: s}, t, s.service.As(execution.LocalAuthority())}
}

func (a acting) view(id execution.ID) execution.View {
	a.t.Helper()
	view, err := a.link.Execution(a.t.Context(), id)
	require.NoError(a.t, err)
	return view
}

// done sends a form that is taken, and gives the page that it leads to.
func (a acting) done(id execution.ID, verb string, form url.Values) string {
	a.t.Helper()
	got := a.send(http.MethodPost, at(id, "/"+verb), form)
	require.Equal(a.t, http.StatusSeeOther, got.StatusCode, got.body)
	return a.page(got.Header.Get("Location"))
}

// refuses sends a form that is not taken: the page says why, and nothing was written.
func (a acting) refuses(id execution.ID, verb string, form url.Values, status int, says string) string {
	a.t.Helper()
	before := redistest.Dump(a.t, a.site.rdb, a.site.prefix)
	got := a.send(http.MethodPost, at(id, "/"+verb), form)
	require.Equal(a.t, status, got.StatusCode, got.body)
	strict(a.t, got)
	require.Contains(a.t, got.body, `role="alert"`)
	require.Contains(a.t, got.body, says)
	require.Equal(a.t, before, redistest.Dump(a.t, a.site.rdb, a.site.prefix))
	return got.body
}

// parked is an execution with an open question.
func (a acting) parked(interaction execution.Interaction) execution.ID {
	a.t.Helper()
	id := a.site.create(a.link, "hello")
	linktest.Claim(a.t, a.site.store, id).Ask(interaction)
	return id
}

func TestAnExecutionIsSteered(t *testing.T) {
	t.Parallel()
	a := act(t)
	id := a.site.create(a.link, "hello")
	require.Contains(t, a.done(id, "pause", nil), "Pause is requested")
	require.Equal(t, execution.Suspended, a.view(id).State)
	a.refuses(id, "resume", url.Values{"maxTurns": {"many"}}, http.StatusBadRequest, "limits.maxTurns")
	a.refuses(id, "delete", nil, http.StatusConflict, "conflict")
	require.Contains(t, a.done(id, "resume", url.Values{"maxTurns": {"7"}, "deadlineMs": {"60000"}, "reason": {"go on"}}), "The execution goes on")
	require.Equal(t, execution.Queued, a.view(id).State)
	require.Contains(t, a.done(id, "resume", nil), "There was nothing to do")
	linktest.Claim(t, a.site.store, id)
	require.Contains(t, a.page(at(id, "")), "Held by")
	require.Contains(t, a.page(at(id, "")), at(id, "/release"))
	require.Contains(t, a.done(id, "release", nil), "The claim was taken")
	require.NotContains(t, a.page(at(id, "")), at(id, "/release"), "nobody holds it")
	require.Contains(t, a.done(id, "cancel", nil), "Cancel is requested")
	require.Equal(t, execution.Canceled, a.view(id).State)
	a.refuses(id, "pause", nil, http.StatusConflict, "execution ended")
	require.Contains(t, a.done(id, "delete", nil), "The execution was deleted")
	require.Equal(t, http.StatusNotFound, a.get(at(id, "")).StatusCode)
}

// approval is about two calls.
func approval() execution.Interaction {
	call := func(id execution.CallID) execution.InteractionCall {
		return execution.InteractionCall{CallID: id, Name: "refund", Arguments: json.RawMessage(`{"b":1}`)}
	}
	return execution.Interaction{
		RequestID: "question", Kind: execution.Approval, Prompt: "May refund be called?",
		Calls: []execution.InteractionCall{call("call_0_0"), call("call_0_1")},
	}
}

// TestCaseK2_CallsAreDecidedOneByOneFromAForm also sends each form twice.
func TestCaseK2_CallsAreDecidedOneByOneFromAForm(t *testing.T) {
	t.Parallel()
	a := act(t)
	id := a.site.create(a.link, "hello")
	w := linktest.Claim(t, a.site.store, id)
	w.Ask(approval())
	page := a.page(at(id, ""))
	require.Contains(t, page, "May refund be called?")
	require.Contains(t, page, "&#34;b&#34;: 1")
	form := func(more ...string) url.Values {
		values := url.Values{"type": {"tool_approval"}, "requestId": {"question"}, "key": {"op-1"}, "callId": {"call_0_0", "call_0_1"}}
		for i := 0; i+1 < len(more); i += 2 {
			values.Set(more[i], more[i+1])
		}
		return values
	}
	a.refuses(id, "answer", form(), http.StatusBadRequest, "nothing was decided")
	kept := a.refuses(id, "answer", form("decision.call_0_0", "edit", "arguments.call_0_0", `{"b": `), http.StatusBadRequest, "must be JSON")
	require.Contains(t, kept, `{&#34;b&#34;: </textarea>`, "what was filled in is still there")
	require.Contains(t, kept, `value="edit" checked`)
	a.refuses(id, "answer", form("decision.call_0_0", "edit", "arguments.call_0_0", `{"b": 99}`), http.StatusBadRequest, "arguments")
	a.refuses(id, "answer", form("decision.call_0_0", "approve", "hash.call_0_0", "other"), http.StatusBadRequest, "Hash")
	edit := form("decision.call_0_0", "edit", "arguments.call_0_0", `{"b": 2}`)
	require.Contains(t, a.done(id, "answer", edit), "The answer was taken")
	require.Contains(t, a.done(id, "answer", edit), "The answer was taken", "sent twice")
	require.Contains(t, a.refuses(id, "answer", form("key", "op-3", "all", "approve"), http.StatusConflict, "interaction closed"),
		"answered by operation op-1")

	rest := approval()
	rest.RequestID, rest.Calls = "rest", rest.Calls[1:]
	w.AskAgain("question", rest)
	reject := form("key", "op-2", "requestId", "rest", "decision.call_0_1", "reject", "reason.call_0_1", "too much")
	reject["callId"] = []string{"call_0_1"}
	a.done(id, "answer", reject)
	require.Nil(t, a.view(id).Interaction, "both are decided")
}

func TestQuestionsAreAnsweredFromForms(t *testing.T) {
	t.Parallel()
	a := act(t)
	form := func(more ...string) url.Values {
		values := url.Values{"type": {"elicitation_response"}, "requestId": {"question"}, "key": {"op-1"}}
		for i := 0; i+1 < len(more); i += 2 {
			values.Add(more[i], more[i+1])
		}
		return values
	}
	id := a.parked(linktest.Elicitation("question"))
	a.refuses(id, "answer", form("how", "text"), http.StatusBadRequest, "input.text")
	a.done(id, "answer", form("how", "text", "text", "yes"))
	require.Nil(t, a.view(id).Interaction)
	id = a.parked(linktest.Elicitation("question"))
	a.done(id, "answer", form("how", "decline"))
	require.Nil(t, a.view(id).Interaction)

	plain := linktest.Elicitation("question")
	plain.Schema = json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer","maximum":9},"window":{"type":"boolean"},
		"class":{"type":"string","enum":["first","second"]},"name":{"type":"string","title":"Full name"}},"required":["seats"]}`)
	id = a.parked(plain)
	page := a.page(at(id, ""))
	for _, part := range []string{`name="field.seats"`, `<option>second</option>`, `type="checkbox" name="field.window"`, "Full name"} {
		require.Contains(t, page, part)
	}
	fields := func(seats string) url.Values {
		return form("how", "fields", "name", "seats", "kind.seats", "integer", "field.seats", seats, "name", "window", "kind.window", "boolean",
			"name", "class", "kind.class", "choice", "field.class", "first", "name", "name", "kind.name", "text", "field.name", "")
	}
	kept := a.refuses(id, "answer", fields("ten"), http.StatusBadRequest, "must be a number")
	require.Contains(t, kept, `value="ten"`)
	a.refuses(id, "answer", fields("10"), http.StatusBadRequest, "input.content")
	a.done(id, "answer", fields("2"))
	require.Nil(t, a.view(id).Interaction)

	deep := linktest.Elicitation("question")
	deep.Schema = json.RawMessage(`{"type":"object","properties":{"seats":{"type":"array"}},"required":["seats"]}`)
	id = a.parked(deep)
	require.Contains(t, a.page(at(id, "")), `name="content"`)
	a.refuses(id, "answer", form("how", "json", "content", "{"), http.StatusBadRequest, "must be JSON")
	a.done(id, "answer", form("how", "json", "content", `{"seats":[1]}`))
	require.Nil(t, a.view(id).Interaction)
}

func TestResultsAreGivenFromAForm(t *testing.T) {
	t.Parallel()
	a := act(t)
	question := approval()
	question.Kind = execution.ClientToolResult
	id := a.site.create(a.link, "hello")
	w := linktest.Claim(t, a.site.store, id)
	w.Ask(question)
	form := func(call, result string) url.Values {
		return url.Values{
			"type": {"tool_result"}, "requestId": {"question"}, "callId": {call}, "result": {result}, "key": {"op-" + call},
		}
	}
	require.Equal(t, 2, strings.Count(a.page(at(id, "")), "Send the result"))
	a.refuses(id, "answer", form("call_0_0", "not JSON"), http.StatusBadRequest, "must be JSON")
	a.done(id, "answer", form("call_0_0", `{"at": 7}`))
	rest := question
	rest.RequestID, rest.Calls = "rest", question.Calls[1:]
	w.AskAgain("question", rest)
	a.done(id, "answer", form("call_0_1", `"down"`))
	require.Nil(t, a.view(id).Interaction)
}

func TestAForkLeadsToTheFork(t *testing.T) {
	t.Parallel()
	a := act(t)
	id := a.site.create(a.link, "hello")
	w := linktest.Claim(t, a.site.store, id)
	w.Say(`{"role":"assistant","text":"one"}`)
	a.refuses(id, "fork", url.Values{"step": {"none"}}, http.StatusBadRequest, "step")
	a.refuses(id, "fork", url.Values{"step": {"99"}, "key": {"k"}}, http.StatusBadRequest, "step")
	form := url.Values{"step": {"1"}, "key": {"fork-1"}, "text": {"Try it otherwise."}}
	first := a.send(http.MethodPost, at(id, "/fork"), form)
	require.Equal(t, http.StatusSeeOther, first.StatusCode, first.body)
	require.Contains(t, a.page(first.Header.Get("Location")), "fork of")
	again := a.send(http.MethodPost, at(id, "/fork"), form)
	require.Equal(t, first.Header.Get("Location"), again.Header.Get("Location"), "sent twice, there is one fork")
}
