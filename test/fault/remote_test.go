//go:build faultpoint

package fault

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const farAgents = `
agents:
  far:
    backend: a2a
    endpoint: {url: "$PEER", poll: 300ms, requestTimeout: 5s}
  hurried:
    backend: a2a
    endpoint: {url: "$PEER", poll: 300ms, requestTimeout: 5s}
    limits: {deadline: 3s}
`

// remoteStack is an installation whose agents are at a peer that recognizes no message which it has had before.
func remoteStack(t *testing.T, script a2atest.Script) (*harness.Stack, *a2atest.Peer) {
	t.Helper()
	peer := a2atest.New(t, script)
	return harness.New(t, harness.Config{Agents: strings.ReplaceAll(farAgents, "$PEER", peer.URL)}), peer
}

// eachNodesPerTask runs a test with one node per task and with several.
func eachNodesPerTask(t *testing.T, run func(t *testing.T, nodes map[string]string)) {
	t.Helper()
	for _, nodes := range []string{"1", "8"} {
		t.Run(nodes+" nodes per task", func(t *testing.T) {
			t.Parallel()
			run(t, map[string]string{"PAWL_NODES_PER_TASK": nodes})
		})
	}
}

// remoteKill is a point of a remote run where the worker dies, and how often the remote may be told of it.
type remoteKill struct {
	name, point string
	told        int
	done        bool // the remote is done before the worker dies
}

func remoteKills() []remoteKill {
	return []remoteKill{
		{"before the message is sent", "claimed:before_model_request", 1, false},
		{"after the message, before its task is kept", "remote_answered", 2, false},
		{"after the message, in the write", "before_commit:before_model_request#2", 2, false},
		{"while the remote works", "after_commit:before_model_request#2", 1, false},
		{"after the answer, before it is kept", "before_commit:model_response", 1, true},
	}
}

// Case K5: the remote's task is kept before anybody waits; whoever comes next reconnects by its id.
func TestCaseK5_ARemoteTaskSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	for _, kill := range remoteKills() {
		t.Run(kill.name, func(t *testing.T) {
			t.Parallel()
			eachNodesPerTask(t, func(t *testing.T, nodes map[string]string) {
				t.Helper()
				killRemoteWorker(t, kill, nodes)
			})
		})
	}
}

func killRemoteWorker(t *testing.T, kill remoteKill, nodes map[string]string) {
	t.Helper()
	release := make(chan struct{})
	stack, peer := remoteStack(t, a2atest.Until(release, "Booked."))
	api := stack.API()
	stack.Reaper()
	victim := stack.Worker(nodes, harness.AtFault(kill.point))
	view := api.Submit("far", "Oslo, please")
	if kill.done { // with a look, not with the answer to the message
		awaitRemote(t, api, view.ID)
		close(release)
	}
	victim.WaitFault(strings.TrimSuffix(kill.point, "#2"))
	stack.Worker(nodes)
	if !kill.done {
		harness.Eventually(t, endTimeout, "the remote works", func() bool { return peer.Calls(a2atest.Get) > 0 })
		close(release)
	}
	view = api.AwaitState(view.ID, endTimeout, execution.Completed)
	require.Equal(t, "Booked.", view.Outcome.Answer)
	harness.CheckLog(t, view.ID, api.Events(view.ID))
	sent := peer.Sent(t)
	require.Len(t, sent, kill.told)
	require.Equal(t, kill.told, peer.Tasks(), "the peer recognizes nothing: each message began a task")
	for _, again := range sent {
		require.Equal(t, sent[0].Message.ID, again.Message.ID, "a repeat has the id of the first one")
	}
	require.LessOrEqual(t, view.Usage.Requests, int64(2))
}

// Case K5: a cancel reaches the remote although nobody who called it is alive any more.
func TestCaseK5_ACancelReachesAWorkingRemoteTaskAfterARestart(t *testing.T) {
	t.Parallel()
	eachNodesPerTask(t, func(t *testing.T, nodes map[string]string) {
		t.Helper()
		stack, peer := remoteStack(t, a2atest.Until(nil, ""))
		api := stack.API()
		stack.Reaper()
		worker := stack.Worker(nodes)
		view := api.Submit("far", "Oslo, please")
		awaitRemote(t, api, view.ID)
		require.Empty(t, stack.Holder(view.ID).Worker, "waiting holds no worker")
		worker.Kill()
		stack.Worker(nodes)
		asked, span := time.Now(), stack.Span()
		api.Cancel(view.ID)
		took := awaitCanceled(t, peer, asked)
		span.Within(t, took, stack.Config.ReapInterval+2*time.Second, "the cancel of the remote task")
		api.AwaitState(view.ID, endTimeout, execution.Canceled)
		require.Equal(t, 1, peer.Tasks())
		harness.Eventually(t, endTimeout, "nothing is left to be undone", func() bool { return !cleanupOpen(stack, view.ID) })
		t.Logf("from the cancel to the peer: %.3f s", took.Seconds())
	})
}

func TestTheDeadlineOfAWaitReachesTheRemote(t *testing.T) {
	t.Parallel()
	stack, peer := remoteStack(t, a2atest.Until(nil, ""))
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("hurried", "Oslo, please")
	view = api.AwaitState(view.ID, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeDeadlineExceeded, view.Failure.Code)
	awaitCanceled(t, peer, time.Now())
}

// A remote asks, its worker dies, and the answer goes to the very task that asked.
func TestTheAnswerReachesTheTaskThatAsked(t *testing.T) {
	t.Parallel()
	eachNodesPerTask(t, func(t *testing.T, nodes map[string]string) {
		t.Helper()
		stack, peer := remoteStack(t, asking)
		api := stack.API()
		stack.Reaper()
		worker := stack.Worker(nodes)
		view := api.Submit("far", "A room, please")
		view = api.AwaitState(view.ID, endTimeout, execution.WaitingForInput)
		require.Equal(t, "Which city?", view.Interaction.Prompt)
		worker.Kill()
		stack.Worker(nodes)
		api.Reply(view, "Oslo")
		view = api.AwaitState(view.ID, endTimeout, execution.Completed)
		require.Equal(t, "A room in Oslo.", view.Outcome.Answer)
		require.Equal(t, 1, peer.Tasks())
		sent := peer.Sent(t)
		require.Len(t, sent, 2)
		require.NotEmpty(t, sent[1].Message.TaskID)
		require.NotEqual(t, sent[0].Message.ID, sent[1].Message.ID)
	})
}

// asking shows a task that wants to know the city.
func asking(ctx context.Context, s *a2atest.Session) error {
	if !s.Again {
		if err := s.Submit(ctx); err != nil {
			return err
		}
		return s.Become(ctx, a2a.TaskStateInputRequired, "Which city?")
	}
	if err := s.Artifact(ctx, "answer", "answer", false, a2a.TextPart{Text: "A room in " + s.Text + "."}); err != nil {
		return err
	}
	return s.Become(ctx, a2a.TaskStateCompleted, "")
}

// cleanupOpen reports whether the row says that something is to be undone.
func cleanupOpen(stack *harness.Stack, id execution.ID) bool {
	cleanup, err := stack.Redis.HGet(context.Background(), harness.RowKey(id), "cleanup").Result()
	return err == nil && cleanup != ""
}

func awaitRemote(t *testing.T, api *harness.API, id execution.ID) {
	t.Helper()
	harness.Eventually(t, endTimeout, "it waits for the remote", func() bool {
		wait := api.Get(id).Wait
		return wait != nil && wait.Kind == execution.WaitRemote
	})
}

func awaitCanceled(t *testing.T, peer *a2atest.Peer, since time.Time) time.Duration {
	t.Helper()
	harness.Eventually(t, endTimeout, "the remote is told", func() bool { return len(peer.Canceled()) > 0 })
	return time.Since(since)
}
