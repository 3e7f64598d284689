package a2a_test

import (
	"context"
	"net/http"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

func TestCaseK5_AWorkingTaskIsCanceledByAProcessThatDidNotBeginIt(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	r, peer := remote(t, a2atest.Until(done, "never"))
	r.must("work")
	task := r.handle()["taskId"]
	r.backend = build(t, a2a.Config{}, endpoint(peer.URL, nil))
	r.aborted()
	require.Equal(t, []sdk.TaskID{sdk.TaskID(task.(string))}, peer.Canceled())
	require.NoError(t, r.abort(), "it may be called again")
	require.Equal(t, backend.CanceledStatus(), r.finish(r.must()).Status, "and a look sees it")
}

func TestATaskThatWaitsIsCanceledToo(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, asking(sdk.TaskStateInputRequired))
	r.finish(r.must("paint"))
	r.aborted()
	require.Len(t, peer.Canceled(), 1)
}

func TestWhatIsOverOrUnknownNeedsNoAbort(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	require.NoError(t, r.abort(), "nothing was begun")
	require.Zero(t, peer.Calls(""))
	first := r.must("hello")
	working := r.state
	r.finish(first)
	require.NoError(t, r.abort())
	require.Zero(t, peer.Calls(a2atest.Cancel), "it has ended")
	if awaiting(first) {
		r.state = working
		require.NoError(t, r.abort(), "the remote says that it cannot be canceled any more")
	}

	restarted := a2atest.New(t, a2atest.Completing("hi"))
	r.backend, r.state = build(t, a2a.Config{}, endpoint(restarted.URL, nil)), working
	require.NoError(t, r.abort(), "the remote knows no such task")
	require.Empty(t, restarted.Canceled())

	next := newRun(t, r.backend)
	next.talk, next.state = r.talk, working
	require.NoError(t, next.abort(), "the task is an earlier run's")
}

func TestAnAbortThatFailsSaysWhetherToTryAgain(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	r, peer := remote(t, a2atest.Until(done, "never"))
	r.must("work")
	peer.Intercept(a2atest.Answering(a2atest.Cancel, 500, -1))
	classified(t, r.abort(), local.Transient, a2a.CodeFailed)
	peer.Intercept(a2atest.Losing(a2atest.Cancel, 1))
	classified(t, r.abort(), local.Transient, a2a.CodeConnectionLost)
	peer.Intercept(saying(a2atest.Cancel, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32004,"message":"never"}}`))
	classified(t, r.abort(), local.Permanent, a2a.CodeRefused)
	peer.Intercept(saying(a2atest.Cancel, "application/json",
		`{"jsonrpc":"2.0","id":"1","result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}}}`))
	require.Equal(t, "the remote agent was told to cancel the task, which is working",
		classified(t, r.abort(), local.Transient, a2a.CodeNotCanceled).Message)
}

func TestATaskThatTheRemoteWillNotCancelIsLookedAt(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	r, peer := remote(t, a2atest.Until(done, "done"))
	r.must("work")
	peer.Intercept(saying(a2atest.Cancel, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32002,"message":"no"}}`))
	classified(t, r.abort(), local.Transient, a2a.CodeNotCanceled)
	close(done)
	r.aborted() // it has ended
	require.Empty(t, peer.Canceled())
}

// A cancel finds a message under way: the task that it begins is still learnt, so that it can be canceled.
func TestACancelWhileAMessageIsUnderWay(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer := a2atest.New(t, a2atest.Until(done, "never"))
	r := newRun(t, build(t, a2a.Config{SendGrace: patience}, endpoint(peer.URL, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	peer.Intercept(func(_ http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Send {
			cancel() // it has come
		}
		return false
	})
	result, err := r.backend.ExecuteRoot(ctx, r.request("work"))
	require.NoError(t, err)
	r.keep(result)
	r.aborted()
	require.Len(t, peer.Canceled(), 1)
}

// The whole of it, led as the executor leads it.
func TestACanceledRunIsAbortedAtItsRemote(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	defer close(done)
	peer := a2atest.New(t, a2atest.Until(done, "never"))
	b := build(t, a2a.Config{SendGrace: patience}, endpoint(peer.URL, nil))
	lifecycle, err := backend.NewLifecycle(backend.LifecycleConfig{Grace: patience, AbortTimeout: patience})
	require.NoError(t, err)
	r := newRun(t, b)
	canceled := make(chan struct{})
	peer.Intercept(func(_ http.ResponseWriter, _ *http.Request, m string, _ http.Handler) bool {
		if m == a2atest.Send {
			close(canceled)
		}
		return false
	})
	result, err := lifecycle.Run(t.Context(), backend.RootRun{
		Agent: backend.NewResolvedAgent("distant", "a2a", b), Request: r.request("work"), Canceled: canceled,
	})
	require.NoError(t, err)
	// The answer may win against the cancel: then the run is parked, and whoever canceled it aborts with its state.
	if !result.Parked {
		require.Equal(t, backend.CanceledStatus(), result.Status)
		require.Equal(t, 1, peer.Calls(a2atest.Cancel), "the remote is told")
	}
	r.keep(result.RunResult)
	r.aborted()
	require.Len(t, peer.Canceled(), 1)
}
