package dashboard

import (
	"net/http"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// inTools is how many tool calls a page shows at most, and how many events before the end of the log the last page begins.
const inTools = 200

// toolsPart is a page of the ledger.
type toolsPart struct {
	Rows     []callRow
	After    execution.Sequence // where the page begins in the log; 0: at its beginning
	Previous execution.Sequence
	Next     execution.Sequence
	More     bool // the log goes on behind the page

	Unreadable []execution.Sequence // events of which calls may be missing
}

// callRow is a tool call as it is shown.
type callRow struct {
	execution.LedgerEntry
	Class     string // what its recovery class means for it
	Note      string // what somebody should know of it
	Standing  string // how far an open one may have come
	Edited    bool   // a person changed its arguments
	Arguments *shownText
	Result    *shownResult
	TookMs    int64
}

// tools shows the execution's tool calls as its ledger has them: the page that is asked for, else the one at the end.
func (p *Pages) tools(w http.ResponseWriter, r *http.Request) error {
	after, asked, err := afterOf(r)
	if err != nil {
		return err
	}
	body, err := p.one(r, "tools")
	if err != nil {
		return err
	}
	if !asked {
		after = p.lastCalls(r, body)
	}
	page, err := p.link(r).ToolCalls(r.Context(), body.View.ID, after, inTools)
	if err != nil {
		return err
	}
	part := &toolsPart{After: after, Next: page.NextAfter, More: page.HasMore, Unreadable: page.Unreadable}
	if after > inTools {
		part.Previous = after - inTools
	}
	for i := range page.ToolCalls {
		part.Rows = append(part.Rows, callOf(&body.View, page.ToolCalls[i]))
	}
	body.Tools, body.More = part, page.HasMore
	p.showOne(w, r, http.StatusOK, "tools", body, nil)
	return nil
}

// lastCalls is where the page at the end of the log begins.
func (p *Pages) lastCalls(r *http.Request, body *oneBody) execution.Sequence {
	end := body.After
	if end == 0 {
		end = p.lastKnown(r, &body.View)
	}
	return end - min(end, inTools)
}

func callOf(view *execution.View, call execution.LedgerEntry) callRow {
	row := callRow{LedgerEntry: call, Class: classText(&call), Note: callNote(view, &call), Standing: standing(view, &call)}
	if len(call.Arguments) > 0 {
		arguments := cut(pretty(call.Arguments))
		row.Arguments = &arguments
	}
	if call.Result != nil {
		row.Edited = len(call.Result.Arguments) > 0
		row.Result = resultOf(view.ID, call.Result)
		row.Result.Edited = nil // they are the call's arguments
	}
	if call.DoneAtMs > 0 {
		row.TookMs = call.DoneAtMs - call.PlannedAtMs
	}
	return row
}

// classText says what becomes of a call without a receipt when its worker is gone. Nothing is sent of one that asks a person.
func classText(call *execution.LedgerEntry) string {
	if call.ChildID != "" {
		return "its child is started once, whatever becomes of the worker"
	}
	switch call.Recovery {
	case execution.RecoveryReadOnly:
		return "it changes nothing, so it is carried out again when its worker dies before it is done"
	case execution.RecoveryIdempotent:
		return "it is carried out again, under the same effect id, when its worker dies before it is done"
	case execution.RecoveryReconcile:
		return "once it was started, its tool is asked what has become of it when its worker dies before it is done"
	case execution.RecoveryUnsafe:
		return "once it was started, it is never carried out again by itself when its worker dies before it is done"
	default:
		return "the definition does not say its class: it is up to the tool's MCP server, or the agent has no such tool"
	}
}

// callNote is what somebody who looks at the call should know.
func callNote(view *execution.View, call *execution.LedgerEntry) string {
	open := call.State != execution.CallDone
	switch {
	case call.OutcomeUnknown:
		return "It was sent and nobody knows what has become of it: look for its effect id in the tool, and answer the open question."
	case open && view.State.Terminal() && call.State == execution.CallStarted:
		return "The execution ended before the call returned. Whether it had an effect is not known."
	case open && view.State.Terminal() && marked(call):
		return "The execution ended before the call was sent."
	case open && view.State.Terminal():
		return "The execution ended before the call was done."
	case !open && call.Result == nil:
		return "Its receipt was written by another release and cannot be read by this one."
	default:
		return ""
	}
}

// marked reports whether the call is marked in the ledger before it is sent.
func marked(call *execution.LedgerEntry) bool {
	return call.ChildID == "" && (call.Recovery == execution.RecoveryReconcile || call.Recovery == execution.RecoveryUnsafe)
}

// standing says how far an open call of an open execution may have come: its state alone says that of marked ones only.
func standing(view *execution.View, call *execution.LedgerEntry) string {
	switch {
	case call.State == execution.CallDone || view.State.Terminal() || call.OutcomeUnknown:
		return ""
	case call.ChildID != "" && slices.ContainsFunc(view.Children, func(child execution.Child) bool {
		return child.ID == call.ChildID && child.State.Terminal()
	}):
		return "its child has ended, and its result is taken with the next step"
	case call.ChildID != "":
		return "done when its child has ended"
	case call.State == execution.CallStarted:
		return "sent, or about to be"
	case asks(view.Interaction, call.CallID):
		return "waits " + waitsFor(view.Interaction.Kind)
	case marked(call):
		return "not sent yet"
	case call.Recovery == "":
		return ""
	case view.State == execution.WaitingForInput:
		return "waits for its turn, or for its result"
	default:
		return "may have begun"
	}
}

// asks reports whether the open question is about the call.
func asks(open *execution.Interaction, id execution.CallID) bool {
	return open != nil && slices.ContainsFunc(open.Calls, func(asked execution.InteractionCall) bool { return asked.CallID == id })
}
