package executor

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestARemoteRunPassesTheNineBoundariesAndHoldsNoWorker(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 8} {
		synctest.Test(t, func(t *testing.T) {
			p := turns(working("t1"), working("t1"), working("t1"), done("Booked.", "t1"))
			w := newWorld(t, farAway(), noKit(), func(cfg *Config) {
				withRemotes(p)(cfg)
				cfg.NodesPerTask = nodes
			})
			w.to(BeforeModelRequest)
			if nodes == 1 {
				require.NoError(t, w.next())
			}
			row := w.row()
			require.Nil(t, row.Claim, "waiting holds no worker")
			require.Equal(t, execution.WaitRemote, row.Wait.Kind)
			require.Equal(t, "t1", taskOf(row))
			row = w.drive()
			require.Equal(t, execution.Completed, row.State)
			require.Equal(t, "Booked.", row.Outcome.Answer)
			require.Empty(t, row.Cleanup)
			require.Equal(t, []Node{
				RunStart, PrepareModelRequest, BeforeModelRequest, BeforeModelRequest, BeforeModelRequest, BeforeModelRequest,
				ModelResponse, ValidateOutput, RunComplete,
			}, w.nodes())
			require.Equal(t, []execution.EventType{
				execution.TypeExecutionQueued, execution.TypeExecutionStarted, execution.TypeModelStarted,
				execution.TypeModelCompleted, execution.TypeExecutionCompleted,
			}, w.types(), "looks leave no events")
			require.Len(t, p.told(), 1)
			require.Equal(t, int64(1), row.Usage.Requests)
		})
	}
}

func TestTheNextTurnGoesOnInWhatTheRemoteKnows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := turns(done("One.", "t1"), done("Two.", "t2"))
		w := newWorld(t, farAway(), noKit(), withRemotes(p))
		first := w.drive()
		w.talk(farAway(), first.ConversationID, "and then?")
		require.Equal(t, "Two.", w.drive().Outcome.Answer)
		second := p.asked()[1]
		require.JSONEq(t, `{"taskId":"t1"}`, string(second.State.Extensions["peer"]))
		require.Equal(t, []string{"and then?"}, texts(second.NewMessages))
		require.Len(t, second.Messages, 3)
		require.NotEqual(t, p.asked()[0].OperationID, second.OperationID)
		for _, message := range w.history() {
			if message.Role == execution.RoleAssistant {
				require.NotNil(t, message.Provider, "the state travels with the history")
			}
		}
	})
}

func TestAForkTakesNoTaskOfTheRemoteAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		question := "Which city?"
		p := turns(waiting(backend.WaitingInputStatus(&question), "t1"), done("Booked.", "t2"))
		w := newWorld(t, farAway(), noKit(), withRemotes(p))
		asked := w.drive()
		require.Equal(t, execution.WaitingForInput, asked.State)
		require.NoError(t, w.fork(farAway(), execution.Origin{ExecutionID: asked.ID, Step: asked.Step}, ""))
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.False(t, p.asked()[1].IsContinuation)
		require.Nil(t, p.asked()[1].State)
		require.Equal(t, []string{"Oslo, please"}, texts(p.asked()[1].NewMessages))
	})
}

func TestARemoteAsksAndIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		question := "Which city?"
		p := turns(working("t1"), waiting(backend.WaitingInputStatus(&question), "t1"), working("t1"), done("Booked.", "t1"))
		w := newWorld(t, farAway(), noKit(), withRemotes(p))
		row := w.drive()
		require.Equal(t, execution.WaitingForInput, row.State)
		require.Equal(t, question, row.PendingInteraction.Prompt)
		w.answer(execution.Input{Type: execution.ElicitationResponse, Text: "Oslo"})
		row = w.drive()
		require.Equal(t, "Booked.", row.Outcome.Answer)
		require.Empty(t, row.Cleanup)
		var said []string
		for _, message := range w.history() {
			said = append(said, message.Text)
		}
		require.Equal(t, []string{"Oslo, please", question, "Oslo", "Booked."}, said)
		require.Len(t, p.told(), 2)
		require.Equal(t, int64(2), row.Usage.Requests)
	})
}

// Case K5: whatever is lost between the remote and the store, the remote is told once, or again under the same name.
func TestCaseK5_ARemoteIsToldOnceOrUnderTheSameName(t *testing.T) {
	t.Parallel()
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		commit int // the commit that is refused for good, as that of a worker that dies before it
		told   int
	}{
		"before the message": {2, 1}, "before the task is kept": {3, 2}, "while it works": {4, 1}, "before the answer is kept": {5, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := &peer{}
			p.root = func(_ context.Context, request backend.RootRunRequest) (backend.RunResult, error) {
				if looks := len(p.asked()) - len(p.told()); len(request.NewMessages) > 0 || looks < 2 {
					return working("t1"), nil
				}
				return done("Booked.", "t1"), nil
			}
			var store *flaky
			w := newWorld(t, farAway(), noKit(), func(cfg *Config) {
				withRemotes(p)(cfg)
				store = &flaky{Store: cfg.Store}
				cfg.Store = store
			})
			commits := 0
			store.refuse(func(method string) error {
				if method == "commit" {
					if commits++; commits == c.commit {
						return lost
					}
				}
				return nil
			})
			row := w.drive()
			require.Equal(t, execution.Completed, row.State, name)
			require.Len(t, p.told(), c.told, name)
			for _, request := range p.told() {
				require.Equal(t, p.told()[0].OperationID, request.OperationID, name)
			}
		})
	}
}

func TestACancelReachesTheRemoteWhileItIsCalled(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]error{"the remote takes it": nil, "the remote is down": errDown} {
		synctest.Test(t, func(t *testing.T) {
			p, asked := &peer{}, make(chan struct{})
			p.root = func(ctx context.Context, _ backend.RootRunRequest) (backend.RunResult, error) {
				close(asked)
				<-ctx.Done()
				return working("t1"), nil // the task was begun
			}
			p.abort = func(backend.AbortRequest) error { return down }
			w := newWorld(t, farAway(), noKit(), withRemotes(p))
			ctx, stop := context.WithCancel(t.Context())
			go func() { _ = w.durable.Watch(ctx) }()
			w.to(BeforeModelRequest)
			ended := w.start()
			<-asked
			_, err := w.store.Cancel(t.Context(), w.id)
			require.NoError(t, err)
			require.NoError(t, <-ended)
			stop()
			synctest.Wait()
			row := w.row()
			require.Len(t, p.aborts(), 1, name)
			require.Equal(t, handle("t1"), p.aborts()[0].State, "the task that was just begun")
			if down == nil {
				require.Equal(t, execution.Canceled, row.State, name)
				require.Empty(t, row.Cleanup, name)
				return
			}
			require.Equal(t, "t1", taskOf(row), "the row says what is still to be undone")
		})
	}
}

func TestTheDeadlineReachesTheRemote(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &peer{root: func(ctx context.Context, _ backend.RootRunRequest) (backend.RunResult, error) {
			<-ctx.Done()
			return working("t1"), nil
		}}
		definition := farAway()
		definition.Limits.Deadline = time.Minute
		w := newWorld(t, definition, noKit(), withRemotes(p))
		row := w.drive()
		require.Equal(t, execution.CodeDeadlineExceeded, row.Failure.Code)
		require.Len(t, p.aborts(), 1)
		require.Empty(t, row.Cleanup)
	})
}

func TestTheEndOfAClaimTellsTheRemoteNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p, asked := &peer{}, make(chan struct{}, 1)
		p.root = func(ctx context.Context, _ backend.RootRunRequest) (backend.RunResult, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return working("t1"), nil
		}
		w := newWorld(t, farAway(), noKit(), withRemotes(p))
		w.to(BeforeModelRequest)
		task, ok := w.queue.pop()
		require.True(t, ok)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- w.durable.Run(ctx, task) }()
		<-asked
		stop() // the queue takes its worker back
		require.NoError(t, <-ended)
		require.Empty(t, p.aborts())
		require.Equal(t, execution.Running, w.row().State)
	})
}

func TestWhatARemoteLeftIsUndoneByTheCleaner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := turns(working("t1"))
		w := newWorld(t, farAway(), noKit(), withRemotes(p))
		w.to(BeforeModelRequest)
		require.NoError(t, w.next())
		_, err := w.store.Cancel(t.Context(), w.id)
		require.NoError(t, err)
		row := w.row()
		require.Equal(t, execution.Canceled, row.State, "a cancel of what waits ends it at once")
		cleaner, err := NewRemoteCleaner(w.store, remotes{carrier: p})
		require.NoError(t, err)
		p.abort = func(backend.AbortRequest) error { return errDown }
		require.ErrorIs(t, cleaner.Clean(t.Context(), row), errDown)
		p.abort = nil
		for range 2 {
			require.NoError(t, cleaner.Clean(t.Context(), row))
		}
		require.Len(t, p.aborts(), 3)
		require.Equal(t, handle("t1"), p.aborts()[2].State)
		require.Equal(t, w.id, p.aborts()[2].Identity.RunID)
		require.NoError(t, cleaner.Clean(t.Context(), journal.Execution{}), "a row that has none")
		row.Cleanup = []byte(`{"v":2}`)
		require.ErrorIs(t, cleaner.Clean(t.Context(), row), ErrCheckpoint)
	})
}

func TestARemoteAgentNeedsAProgramThatHasRemotes(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Config){
		"none":           nil,
		"not this one":   func(cfg *Config) { cfg.Remotes = unregistered{} },
		"not built here": func(cfg *Config) { cfg.Remotes = brokenRemotes{} },
	} {
		synctest.Test(t, func(t *testing.T) {
			row := newWorld(t, farAway(), noKit(), change).drive()
			require.Equal(t, execution.Suspended, row.State, name)
			require.Equal(t, execution.ReasonUnknownDefinition, row.Suspension.Reason, name)
			require.Equal(t, 1, strings.Count(row.Suspension.Detail, `agent "far"`), "%s: %s", name, row.Suspension.Detail)
		})
	}
}

func TestTheStateOfARemoteRunSurvivesItsCheckpoint(t *testing.T) {
	t.Parallel()
	state := RunState{Status: StatusWaiting, Remote: &RemoteRun{
		State: handle("t1"), Operation: "o", Looks: 3, Noted: true,
		Question: &RemoteQuestion{Kind: execution.Elicitation, Prompt: "?", Request: "req_1_0", Answered: true},
	}, Response: &Response{Text: "a", Output: json.RawMessage(`{"artifacts":[]}`)}}
	data, err := NewCheckpoint(4, BeforeModelRequest, state).Encode()
	require.NoError(t, err)
	read, err := DecodeCheckpoint(data)
	require.NoError(t, err)
	require.Equal(t, state.Remote, read.State.Remote)
	require.Equal(t, state.Response, read.State.Response)
	clone := state.Clone()
	clone.Remote.Question.Prompt, clone.Remote.State.Extensions["peer"] = "!", nil
	require.Equal(t, "?", state.Remote.Question.Prompt)
	require.NotNil(t, state.Remote.State.Extensions["peer"])
}
