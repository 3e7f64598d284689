package linktest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

// deadline bounds every wait of the suite.
const deadline = time.Minute

// Harness is one link under test over an empty store.
type Harness struct {
	// As is the link as a caller sees it.
	As func(authority execution.Authority) link.RuntimeLink
	// Store is the store behind the link; the suite plays the worker on it.
	Store journal.Store
	// Dump is a full dump of the store.
	Dump func() map[string]string
	// DamageEvent makes a stored event unreadable, its time too or not.
	DamageEvent func(id execution.ID, n execution.Sequence, timeToo bool)
}

// Local is the link of the local operator.
func (h Harness) Local() link.RuntimeLink { return h.As(execution.LocalAuthority()) }

// Open gives a harness whose agents are those of Catalog. What it opens ends with the test.
type Open func(t *testing.T) Harness

// Catalog is the agents of the suite.
func Catalog(t testing.TB) *agent.Catalog {
	t.Helper()
	model := agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{Text: "done"}}}
	prices := &agent.Prices{InputPer1M: 2_500_000, OutputPer1M: 10_000_000}
	catalog, err := agent.NewCatalog(
		&agent.Definition{Name: "demo", Backend: "local", Model: model, Tools: []agent.Tool{{
			Name: "refund", Type: agent.ToolHTTP, URL: "http://tools/refund", Approval: agent.Approval{Always: true},
			Parameters: json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer","maximum":9}}}`),
		}}},
		&agent.Definition{Name: "other", Backend: "local", Model: agent.Model{
			Provider: agent.ProviderOpenAI, Name: "large", APIKey: "${OPENAI_API_KEY}", NoImages: true,
		}},
		&agent.Definition{Name: "priced", Backend: "local", Limits: execution.Limits{MaxCost: 1_000_000}, Model: agent.Model{
			Provider: agent.ProviderAnthropic, Name: "large", APIKey: "${ANTHROPIC_API_KEY}", Prices: prices,
		}},
		&agent.Definition{Name: "lead", Backend: "local", Model: agent.Model{
			Provider: agent.ProviderOpenAI, Name: "large", APIKey: "${OPENAI_API_KEY}",
		}, Tools: []agent.Tool{
			{Name: "ask", Type: agent.ToolAgent, Agent: "demo", Mode: agent.Durable},
			{Name: "divide", Type: agent.ToolAgent, Agent: "lead", Mode: agent.Durable},
		}},
		&agent.Definition{Name: "remote", Backend: agent.BackendA2A, Endpoint: &agent.Endpoint{URL: "http://agents/remote"}},
	)
	require.NoError(t, err)
	return catalog
}

// OpenWith is the opening of the suite's executions. The suite's worker does not look at it.
func OpenWith(_ *agent.Definition, request execution.CreateRequest) ([]byte, string, [][]byte, error) {
	return []byte(`{"v":1}`), "run_start", [][]byte{[]byte(`{"role":"user","text":"` + request.Input.Text + `"}`)}, nil
}

// Request is a valid submission.
func Request(text string) execution.CreateRequest {
	return execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: text},
	}
}

// Worker plays a worker on one execution.
type Worker struct {
	t     testing.TB
	store journal.Store
	id    execution.ID
	claim journal.Claimed
}

// Claim takes the execution.
func Claim(t testing.TB, store journal.Store, id execution.ID) *Worker {
	t.Helper()
	w := &Worker{t: t, store: store, id: id}
	w.again()
	return w
}

func (w *Worker) again() {
	w.t.Helper()
	ctx := context.Background()
	var err error
	w.claim, err = w.store.Claim(ctx, journal.ClaimRequest{
		Execution: w.id, Worker: "worker", Nonce: rand.Text(), TTL: time.Minute,
	})
	require.NoError(w.t, err)
}

// Commit commits one step. When the execution goes on, the worker claims the next one.
func (w *Worker) Commit(then journal.Then, events ...execution.Payload) {
	w.t.Helper()
	w.commit(then, nil, events...)
}

func (w *Worker) commit(then journal.Then, consumed []execution.RequestID, events ...execution.Payload) {
	w.t.Helper()
	committed, err := w.store.Commit(context.Background(), journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step,
		Node: "model_response", Checkpoint: []byte(`{"v":1}`), Events: events, Then: then, Consumed: consumed,
		ClaimedAtMs: w.claim.NowMs,
	})
	require.NoError(w.t, err)
	if committed.State == execution.Running && then.Kind == journal.ThenContinue {
		w.again()
	}
}

// Complete ends the execution.
func (w *Worker) Complete(answer string) {
	w.t.Helper()
	w.Commit(journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: answer}})
}

// Finalize begins the end of the execution.
func (w *Worker) Finalize() {
	w.t.Helper()
	_, err := w.store.Transition(context.Background(), journal.Hold{
		Execution: w.id, Fence: w.claim.Fence, Operation: 1,
	}, []execution.State{execution.Running}, execution.Finalizing)
	require.NoError(w.t, err)
}

// Ask parks the execution on a question.
func (w *Worker) Ask(interaction execution.Interaction) {
	w.t.Helper()
	w.Commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitInput, Interaction: &interaction})
}

// AskAgain takes the answer to a question and parks the execution on another.
func (w *Worker) AskAgain(answered execution.RequestID, interaction execution.Interaction) {
	w.t.Helper()
	w.again()
	w.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitInput, Interaction: &interaction},
		[]execution.RequestID{answered})
}

// Warnings commits n steps with one event each.
func (w *Worker) Warnings(n int) {
	w.t.Helper()
	for range n {
		w.Commit(journal.Then{Kind: journal.ThenContinue}, &execution.Warning{Code: "test", Message: "a step"})
	}
}

// Elicitation is a question that a text answers.
func Elicitation(request execution.RequestID) execution.Interaction {
	return execution.Interaction{
		RequestID: request, Kind: execution.Elicitation, Prompt: "Book it?",
		Calls: []execution.InteractionCall{{CallID: "call_0_0", Name: "confirm", Arguments: []byte(`{}`)}},
	}
}

// Unknown is an approval of two calls whose outcome is unknown.
func Unknown(request execution.RequestID) execution.Interaction {
	return execution.Interaction{
		RequestID: request, Kind: execution.Approval, Reason: execution.OutcomeUnknown, Prompt: "Again?",
		Calls: []execution.InteractionCall{
			{CallID: "call_0_0", Name: "pay", Arguments: []byte(`{}`)},
			{CallID: "call_0_1", Name: "pay", Arguments: []byte(`{}`)},
		},
	}
}

// Answer is an answer to an elicitation.
func Answer(operation execution.OperationID, request execution.RequestID, text string) execution.SubmitInput {
	return execution.SubmitInput{
		OperationID: operation,
		Input:       execution.Input{Type: execution.ElicitationResponse, RequestID: request, Text: text},
	}
}

// Log is the whole log, read past the link.
func Log(t testing.TB, store journal.Store, id execution.ID) []execution.Event {
	t.Helper()
	events, err := store.Events(context.Background(), id, 0, 10_000)
	require.NoError(t, err)
	return events
}

// Refused asserts an error's code and field, and gives its detail.
func Refused(t testing.TB, err error, code execution.ErrorCode, field string) (detail string) {
	t.Helper()
	var api *execution.APIError
	require.Truef(t, errors.As(err, &api), "want an APIError, got %v", err)
	require.Equal(t, code, api.Code, api.Detail)
	require.Equal(t, field, api.Field, api.Detail)
	return api.Detail
}

func bounded(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	t.Cleanup(cancel)
	return ctx
}

func submit(t testing.TB, l link.RuntimeLink) execution.ID {
	t.Helper()
	created, err := l.Create(bounded(t), "", Request("hello"))
	require.NoError(t, err)
	return created.View.ID
}
