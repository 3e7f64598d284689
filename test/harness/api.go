package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
)

const (
	requestTimeout = 40 * time.Second
	eventPage      = 1000
)

// API is a running API process and a client of it.
type API struct {
	*Process
	URL string
	tb  testing.TB
}

// For is the same API for a subtest: what fails belongs to tb.
func (a *API) For(tb testing.TB) *API {
	tb.Helper()
	return &API{Process: a.Process, URL: a.URL, tb: tb}
}

// Answer is what the API answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// View decodes a view.
func (a Answer) View() (execution.View, error) {
	var view execution.View
	if err := json.Unmarshal(a.Body, &view); err != nil {
		return view, fmt.Errorf("decode view %q: %w", a.Body, err)
	}
	return view, nil
}

// Problem is the code and the field of an error.
func (a Answer) Problem() (code, field string) {
	var problem struct{ Code, Field string }
	if err := json.Unmarshal(a.Body, &problem); err != nil {
		return "", ""
	}
	return problem.Code, problem.Field
}

// Do sends one request; body may be nil, raw JSON or anything that encodes to JSON.
func (a *API) Do(ctx context.Context, method, path string, header map[string]string, body any) (Answer, error) {
	var reader io.Reader
	switch body := body.(type) {
	case nil:
	case string:
		reader = bytes.NewReader([]byte(body))
	default:
		data, err := json.Marshal(body)
		if err != nil {
			return Answer{}, fmt.Errorf("encode body: %w", err)
		}
		reader = bytes.NewReader(data)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, a.URL+path, reader)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if reader != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = response.Body.Close() }() // read to its end, or broken
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return Answer{Status: response.StatusCode, Header: response.Header, Body: data}, nil
}

// Submission is the body of a submission that says text to the agent.
func Submission(agent, text string) execution.CreateRequest {
	return execution.CreateRequest{
		Agent: agent, Input: execution.Input{Type: execution.UserMessage, Text: text},
	}
}

// TrySubmit submits; key may be empty.
func (a *API) TrySubmit(ctx context.Context, key string, body any) (Answer, error) {
	header := map[string]string{}
	if key != "" {
		header["Idempotency-Key"] = key
	}
	return a.Do(ctx, http.MethodPost, "/v1/executions", header, body)
}

// Submit says text to the agent and expects a 202.
func (a *API) Submit(agent, text string) execution.View {
	a.tb.Helper()
	answer, err := a.TrySubmit(context.Background(), "", Submission(agent, text))
	return a.view(answer, err, http.StatusAccepted)
}

// Get returns the view.
func (a *API) Get(id execution.ID) execution.View {
	a.tb.Helper()
	answer, err := a.Do(context.Background(), http.MethodGet, "/v1/executions/"+string(id), nil, nil)
	return a.view(answer, err, http.StatusOK)
}

// Cancel cancels and returns the view and the status.
func (a *API) Cancel(id execution.ID) (execution.View, int) {
	a.tb.Helper()
	answer, err := a.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/cancel", nil, nil)
	return a.view(answer, err, http.StatusAccepted, http.StatusOK), answer.Status
}

// Pause pauses and returns the view and the status.
func (a *API) Pause(id execution.ID) (execution.View, int) {
	a.tb.Helper()
	answer, err := a.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/pause", nil, nil)
	return a.view(answer, err, http.StatusAccepted, http.StatusOK), answer.Status
}

// Resume resumes and returns the view and the status.
func (a *API) Resume(id execution.ID) (execution.View, int) {
	a.tb.Helper()
	answer, err := a.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/resume", nil, nil)
	return a.view(answer, err, http.StatusAccepted, http.StatusOK), answer.Status
}

// TryInput answers an interaction.
func (a *API) TryInput(id execution.ID, operation string, input execution.Input) Answer {
	a.tb.Helper()
	body := execution.SubmitInput{OperationID: execution.OperationID(operation), Input: input}
	answer, err := a.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(id)+"/input", nil, body)
	if err != nil {
		a.tb.Fatalf("input: %v", err)
	}
	return answer
}

// Input answers an interaction and expects a 200.
func (a *API) Input(id execution.ID, operation string, input execution.Input) execution.View {
	a.tb.Helper()
	return a.view(a.TryInput(id, operation, input), nil, http.StatusOK)
}

// Decide makes one decision about every call of the open approval.
func (a *API) Decide(view execution.View, decision execution.Decision) execution.View {
	a.tb.Helper()
	input := execution.Input{Type: execution.ToolApproval, RequestID: view.Interaction.RequestID}
	for _, call := range view.Interaction.Calls {
		decision.CallID = call.CallID
		input.Decisions = append(input.Decisions, decision)
	}
	return a.Input(view.ID, "decide-"+string(view.Interaction.RequestID), input)
}

// Reply answers the open elicitation with text.
func (a *API) Reply(view execution.View, text string) execution.View {
	a.tb.Helper()
	return a.Input(view.ID, "reply-"+string(view.Interaction.RequestID), execution.Input{
		Type: execution.ElicitationResponse, RequestID: view.Interaction.RequestID, Text: text,
	})
}

// AwaitState waits until the execution is in one of the states; another terminal state fails the test.
func (a *API) AwaitState(id execution.ID, timeout time.Duration, states ...execution.State) execution.View {
	a.tb.Helper()
	var view execution.View
	found := Poll(timeout, func() bool {
		view = a.Get(id)
		for _, state := range states {
			if view.State == state {
				return true
			}
		}
		if view.State.Terminal() {
			a.tb.Fatalf("%s is %s (%+v), want %v", id, view.State, view.Failure, states)
		}
		return false
	})
	if !found {
		a.tb.Fatalf("%s is still %s at step %d (%s) after %v, want %v; events %v",
			id, view.State, view.Step, view.Node, timeout, states, Types(a.Events(id)))
	}
	return view
}

// Events reads the whole log.
func (a *API) Events(id execution.ID) []execution.Event {
	a.tb.Helper()
	var events []execution.Event
	after := execution.Sequence(0)
	for {
		query := url.Values{"limit": {strconv.Itoa(eventPage)}}
		if after > 0 {
			query.Set("after", strconv.FormatUint(uint64(after), 10))
		}
		path := "/v1/executions/" + string(id) + "/events?" + query.Encode()
		answer, err := a.Do(context.Background(), http.MethodGet, path, nil, nil)
		if err != nil || answer.Status != http.StatusOK {
			a.tb.Fatalf("events of %s: %d %s %v", id, answer.Status, answer.Body, err)
		}
		var page execution.EventPage
		if err := json.Unmarshal(answer.Body, &page); err != nil {
			a.tb.Fatalf("events of %s: %v", id, err)
		}
		events = append(events, page.Events...)
		if !page.HasMore {
			return events
		}
		after = page.NextAfter
	}
}

func (a *API) view(answer Answer, err error, want ...int) execution.View {
	a.tb.Helper()
	if err != nil {
		a.tb.Fatal(err)
	}
	for _, status := range want {
		if answer.Status == status {
			view, err := answer.View()
			if err != nil {
				a.tb.Fatal(err)
			}
			return view
		}
	}
	a.tb.Fatalf("status %d, want %v: %s", answer.Status, want, answer.Body)
	return execution.View{}
}
