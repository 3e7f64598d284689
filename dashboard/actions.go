package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// operationKey names one sending of a form: sent twice, it happens once.
func operationKey() string { return "dashboard_" + rand.Text() }

// action does what a form says. It gives the word for the page that follows, and which execution that is of; an empty one
// leads to the list.
type action func(ctx context.Context, l link.RuntimeLink, id execution.ID, form url.Values) (done string, next execution.ID, err error)

// verbs are the actions by the last part of their address.
func (p *Pages) verbs() map[string]action {
	steer := func(verb string, do func(link.RuntimeLink, context.Context, execution.ID) (execution.Steered, error)) action {
		return func(ctx context.Context, l link.RuntimeLink, id execution.ID, _ url.Values) (string, execution.ID, error) {
			steered, err := do(l, ctx, id)
			return changed(verb, steered), id, err
		}
	}
	return map[string]action{
		"cancel":  steer("cancel", link.RuntimeLink.Cancel),
		"pause":   steer("pause", link.RuntimeLink.Pause),
		"release": steer("release", link.RuntimeLink.Release),
		"resume":  resume,
		"delete": func(ctx context.Context, l link.RuntimeLink, id execution.ID, _ url.Values) (string, execution.ID, error) {
			return "delete", "", l.Delete(ctx, id)
		},
		"fork":   fork,
		"answer": answer,
	}
}

func changed(verb string, steered execution.Steered) string {
	if !steered.Changed {
		return "unchanged"
	}
	return verb
}

// act answers a form: with the page that shows what became of it, or with the page that it was on and what is wrong.
func (p *Pages) act(do action) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id := execution.ID(r.PathValue("id"))
		done, next, err := do(r.Context(), p.link(r), id, r.PostForm)
		if err != nil {
			return p.refused(w, r, err)
		}
		place := root + "/executions"
		if next != "" {
			place += "/" + string(next)
		}
		http.Redirect(w, r, place+"?"+values("done", done).Encode(), http.StatusSeeOther)
		return nil
	}
}

// refused shows the execution with what is wrong and what was filled in. What cannot be shown is an error page.
func (p *Pages) refused(w http.ResponseWriter, r *http.Request, err error) error {
	problem := p.problemOf(r, err)
	if problem.Status == http.StatusNotFound || problem.Status >= http.StatusInternalServerError {
		return err
	}
	body, readErr := p.current(r)
	if readErr != nil {
		return err
	}
	body.Form = r.PostForm
	if body.Question != nil {
		body.Question.refill(r.PostForm)
	}
	p.showOne(w, r, problem.Status, "execution", body, problem)
	return nil
}

func resume(ctx context.Context, l link.RuntimeLink, id execution.ID, form url.Values) (string, execution.ID, error) {
	request := execution.ResumeRequest{Reason: strings.TrimSpace(form.Get("reason"))}
	limits, err := limitsOf(form)
	if err != nil {
		return "", id, err
	}
	if limits != (execution.Limits{}) {
		request.Limits = &limits
	}
	steered, err := l.Resume(ctx, id, request)
	return changed("resume", steered), id, err
}

// limitsOf reads the limits of a form; an empty field is none.
func limitsOf(form url.Values) (execution.Limits, error) {
	var limits execution.Limits
	var deadlineMs int64
	for name, into := range map[string]*int64{
		"maxTurns": &limits.MaxTurns, "maxModelRequests": &limits.MaxModelRequests, "maxToolCalls": &limits.MaxToolCalls,
		"maxTotalTokens": &limits.MaxTotalTokens, "maxCost": &limits.MaxCost, "deadlineMs": &deadlineMs,
	} {
		text := strings.TrimSpace(form.Get(name))
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > int64(1<<53) {
			return limits, invalid("limits."+name, "must be a whole number above 0")
		}
		*into = n
	}
	limits.Deadline = time.Duration(min(deadlineMs, int64(1<<43))) * time.Millisecond
	return limits, nil
}

func fork(ctx context.Context, l link.RuntimeLink, id execution.ID, form url.Values) (string, execution.ID, error) {
	step, err := strconv.ParseUint(form.Get("step"), 10, 63)
	if err != nil {
		return "", id, invalid("step", "must be the number of a checkpoint")
	}
	request := execution.ForkRequest{
		Step: execution.Step(step), Model: strings.TrimSpace(form.Get("model")), Instructions: strings.TrimSpace(form.Get("instructions")),
	}
	if text := form.Get("text"); strings.TrimSpace(text) != "" {
		request.Input = &execution.Input{Type: execution.UserMessage, Text: text}
	}
	created, err := l.Fork(ctx, id, form.Get("key"), request)
	return "fork", created.View.ID, err
}

// answer is the input of the form that fits the open interaction.
func answer(ctx context.Context, l link.RuntimeLink, id execution.ID, form url.Values) (string, execution.ID, error) {
	input := execution.Input{RequestID: execution.RequestID(form.Get("requestId"))}
	var err error
	switch input.Type = execution.InputType(form.Get("type")); input.Type {
	case execution.ToolApproval:
		input.Decisions, err = decisionsOf(form)
	case execution.ElicitationResponse:
		err = elicited(&input, form)
	case execution.ToolResultInput:
		input.CallID, input.IsError = execution.CallID(form.Get("callId")), form.Get("isError") != ""
		input.Result, err = jsonOf("result", form.Get("result"))
	default:
		err = invalid("type", "want an answer to an interaction")
	}
	if err != nil {
		return "", id, err
	}
	_, err = l.SubmitInput(ctx, id, execution.SubmitInput{
		OperationID: execution.OperationID(form.Get("key")), Input: input,
	})
	return "answer", id, err
}

// decisionsOf reads what was decided about each call. A call about which nothing was decided stays open.
func decisionsOf(form url.Values) ([]execution.Decision, error) {
	var decisions []execution.Decision
	all := form.Get("all")
	for _, id := range form["callId"] {
		kind := form.Get("decision." + id)
		if all != "" {
			kind = all
		}
		if kind == "" {
			continue
		}
		decision := execution.Decision{
			CallID: execution.CallID(id), Decision: execution.DecisionKind(kind), ArgumentsHash: form.Get("hash." + id),
		}
		var err error
		switch decision.Decision {
		case execution.Edit:
			decision.Arguments, err = jsonOf("decisions.arguments", form.Get("arguments."+id))
		case execution.Answer:
			decision.Answer, err = textOrJSON(form.Get("answer." + id))
		case execution.Reject:
			decision.Reason = strings.TrimSpace(form.Get("reason." + id))
		case execution.Approve:
		}
		if err != nil {
			return nil, err
		}
		decisions = append(decisions, decision)
	}
	if len(decisions) == 0 {
		return nil, invalid("decisions", "nothing was decided")
	}
	return decisions, nil
}

// jsonOf is a text that must be JSON.
func jsonOf(field, text string) (json.RawMessage, error) {
	var value json.RawMessage
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return nil, execution.NewAPIError(execution.InvalidRequest, "must be JSON: %v", err).In(field)
	}
	return value, nil
}

// textOrJSON is JSON as it is, and any other text as a JSON string.
func textOrJSON(text string) (json.RawMessage, error) {
	if value, err := jsonOf("", text); err == nil {
		return value, nil
	}
	return json.Marshal(text)
}
