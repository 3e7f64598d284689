package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// inLog is how many events a page shows.
const inLog = 400

// oneBody is what every page of one execution begins with, and its own part.
type oneBody struct {
	View     execution.View
	Tab      string
	May      may
	Key      string // makes an action that is sent twice happen once
	Form     url.Values
	Why      *execution.Why
	Events   []eventRow
	Earlier  bool // the log begins before the first event shown
	After    execution.Sequence
	More     bool           // the log goes on behind the last one
	AtStep   execution.Step // of the last one shown, as far as it is known
	Timeline *timeline
	Question *question
	Messages *messagesPart
	Tools    *toolsPart
	Steps    *stepsPart
}

// may is which actions are offered: what the state allows to the caller's role. The link decides.
type may struct{ Answer, Cancel, Pause, Resume, Release, Delete, Fork bool }

func mayOf(visit *auth.Visit, view *execution.View) may {
	role := visit.Authority.Role
	steers := role == execution.SubmitRole || role == execution.OperateRole
	open := !view.State.Terminal() && view.State != execution.Finalizing
	return may{
		Answer:  steers && view.State == execution.WaitingForInput,
		Cancel:  steers && open && !view.CancelRequested,
		Pause:   steers && open && view.State != execution.Suspended && !view.PauseRequested,
		Resume:  steers && view.State == execution.Suspended,
		Release: role == execution.OperateRole && view.State == execution.Running && view.Wait == nil,
		Delete:  steers && view.State.Terminal(),
		Fork:    steers && visit.Authority.Caller.Tenant != execution.AllTenants,
	}
}

// one reads the execution that the address names.
func (p *Pages) one(r *http.Request, tab string) (*oneBody, error) {
	view, err := p.link(r).Execution(r.Context(), execution.ID(r.PathValue("id")))
	if err != nil {
		return nil, err
	}
	body := &oneBody{View: view, Tab: tab, May: mayOf(auth.From(r.Context()), &view), Key: operationKey()}
	if tab != "now" && !view.State.Terminal() {
		body.After = p.lastKnown(r, &view)
	}
	return body, nil
}

// showOne shows a page of one execution.
func (p *Pages) showOne(w http.ResponseWriter, r *http.Request, status int, view string, body *oneBody, problem *problem) {
	page := p.page(r, body.View.Agent+" "+short(body.View.ID), "executions")
	page.Body, page.Problem = body, problem
	switch {
	case body.More:
	case !body.View.State.Terminal():
		page.Live = follow(body)
	case hasOpenChild(&body.View): // its own stream has ended, and they are about to be canceled
		page.Live = &live{PaceMs: 400, AgainMs: 2000}
	}
	p.show(w, r, status, view, page)
}

// follow is the stream that a page of an execution follows, from where the page ends.
func follow(body *oneBody) *live {
	all := everything()
	at := "/v1/executions/" + string(body.View.ID) + "/events"
	at += "?after=" + strconv.FormatUint(uint64(body.After), 10)
	types := make([]string, 0, 2)
	for _, of := range execution.FrameTypes() {
		types = append(types, string(of))
	}
	page := &live{URL: at, Types: all.Types + " " + strings.Join(types, " "), PaceMs: 400}
	moves := body.View.State == execution.Queued || body.View.State == execution.Running
	if body.Tab == "now" && moves || hasOpenChild(&body.View) {
		page.AgainMs = factsMs // no event of its own tells of its claim, its place in the queue, or its children
	}
	return page
}

func hasOpenChild(view *execution.View) bool {
	return slices.ContainsFunc(view.Children, func(child execution.Child) bool {
		return child.State != "" && !child.State.Terminal()
	})
}

// execution shows what an execution does and why.
func (p *Pages) execution(w http.ResponseWriter, r *http.Request) error {
	body, err := p.current(r)
	if err != nil {
		return err
	}
	p.showOne(w, r, http.StatusOK, "execution", body, nil)
	return nil
}

// current reads the first page of one execution.
func (p *Pages) current(r *http.Request) (*oneBody, error) {
	body, err := p.one(r, "now")
	if err != nil {
		return nil, err
	}
	why, err := p.link(r).Why(r.Context(), body.View.ID)
	if err != nil {
		return nil, err
	}
	body.Why = &why
	body.May.Release = body.May.Release && why.Holder != nil // else there is no claim to take
	if err := p.addLog(r, body); err != nil {
		return nil, err
	}
	if body.View.Interaction != nil {
		body.Question = questionOf(body.View.ID, body.View.Interaction)
	}
	return body, nil
}

// addLog reads the page of the log that is asked for, else its end.
func (p *Pages) addLog(r *http.Request, body *oneBody) error {
	after, asked, err := afterOf(r)
	if err != nil {
		return err
	}
	l := p.link(r)
	page, err := l.Events(r.Context(), body.View.ID, after, inLog)
	if err != nil {
		return err
	}
	if page.HasMore && !asked { // a long log: from the newest checkpoint back
		if after = p.nearEnd(r, body); after > 0 {
			if page, err = l.Events(r.Context(), body.View.ID, after, inLog); err != nil {
				return err
			}
		}
	}
	body.After, body.More, body.Earlier = page.NextAfter, page.HasMore, after > 0
	body.Events = rows(page.Events)
	steps := p.steps(r, body, after)
	body.AtStep = stepAt(steps, body.After)
	body.Timeline = draw(shown{
		events: page.Events, steps: steps, more: page.HasMore, state: body.View.State, step: body.View.Step,
		held: body.Why != nil && body.Why.Holder != nil, nowMs: p.now().UnixMilli(), children: childCalls(&body.View),
	})
	return nil
}

// childCalls are the calls that started executions of their own.
func childCalls(view *execution.View) map[execution.CallID]bool {
	calls := make(map[execution.CallID]bool, len(view.Children))
	for _, child := range view.Children {
		calls[child.Call] = true
	}
	return calls
}

func afterOf(r *http.Request) (execution.Sequence, bool, error) {
	text := r.URL.Query().Get("after")
	if text == "" {
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, false, invalid("after", "must be a sequence")
	}
	return execution.Sequence(n), true, nil
}

// nearEnd is a sequence from which about a page is left up to the end; 0 when that cannot be told.
func (p *Pages) nearEnd(r *http.Request, body *oneBody) execution.Sequence {
	end := p.lastKnown(r, &body.View)
	if end < inLog {
		return 0
	}
	return end - inLog*3/4
}

// lastKnown is the last event that the newest checkpoint knows of; 0 when that cannot be told.
func (p *Pages) lastKnown(r *http.Request, view *execution.View) execution.Sequence {
	page, err := p.link(r).Checkpoints(r.Context(), view.ID, view.Step, 1)
	if err != nil || len(page.Checkpoints) == 0 {
		return 0
	}
	return cursorOf(page.Checkpoints[0].Evidence)
}

// eventRow is a line of the log.
type eventRow struct {
	Sequence execution.Sequence
	AtMs     int64
	Type     execution.EventType
	Text     string
	Tone     string // good, bad, warn, ask or nothing
}

// rows are the events, the newest first.
func rows(events []execution.Event) []eventRow {
	all := make([]eventRow, 0, len(events))
	for i := len(events) - 1; i >= 0; i-- {
		event := events[i]
		text, tone := tell(event.Payload)
		all = append(all, eventRow{event.Sequence, event.OccurredAtMs, event.Payload.EventType(), text, tone})
	}
	return all
}

// tell says what an event says, and how serious it is.
func tell(payload execution.Payload) (text, tone string) {
	switch e := payload.(type) {
	case *execution.ModelStarted:
		return fmt.Sprintf("turn %d", e.Turn), ""
	case *execution.ModelCompleted:
		return modelText(e), ""
	case *execution.ToolStarted:
		return fmt.Sprintf("%s (%s)", e.Name, e.CallID), ""
	case *execution.ToolCompleted:
		if e.Failed {
			return fmt.Sprintf("%s (%s) failed", e.Name, e.CallID), "bad"
		}
		return fmt.Sprintf("%s (%s)", e.Name, e.CallID), "good"
	case *execution.InteractionRequired:
		return fmt.Sprintf("%s: %s", words(e.Kind), e.Prompt), "ask"
	case *execution.InteractionReceived:
		return string(e.RequestID), ""
	case *execution.Warning:
		return e.Code + ": " + e.Message, "warn"
	case *execution.ExecutionSuspended:
		return strings.TrimSuffix(words(e.Reason)+": "+e.Detail, ": "), "warn"
	case *execution.RetryScheduled:
		return strings.TrimSuffix(fmt.Sprintf("%s, attempt %d, after %s: %s", e.Node, e.Attempt, e.Code, e.Message), ": "), "warn"
	case *execution.ExecutionCompleted:
		return e.Answer, "good"
	case *execution.ExecutionFailed:
		return e.Code + ": " + e.Message, "bad"
	case *execution.ExecutionCanceled, *execution.CancelRequested:
		return "", "warn"
	case *execution.UnknownEvent:
		return string(e.Fields), ""
	case *execution.UnreadableEvent:
		return "It is damaged, or was written by another release, and cannot be read by this one.", "warn"
	default:
		return "", ""
	}
}

func modelText(e *execution.ModelCompleted) string {
	parts := []string{fmt.Sprintf("turn %d", e.Turn), e.FinishReason}
	if e.Model != "" {
		parts = append(parts, e.Model)
	}
	if e.InputTokens != nil && e.OutputTokens != nil {
		parts = append(parts, fmt.Sprintf("%s in, %s out", many(*e.InputTokens, "token"), thousands(*e.OutputTokens)))
	}
	return strings.Join(parts, ", ")
}
