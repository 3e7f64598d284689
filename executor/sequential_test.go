package executor

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func sequential(name string, recovery agent.Recovery) *fakeTool {
	f := tool(name, recovery, nil)
	f.spec.Sequential = true
	return f
}

func TestSequentialCallsRunOneAfterTheOther(t *testing.T) {
	t.Parallel()
	var running, most atomic.Int32
	alone := func(name string) *fakeTool {
		f := sequential(name, agent.Idempotent)
		f.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			return says("done")(ctx, call)
		}
		return f
	}
	p := playOf(t, alone("a"), alone("b"), alone("c"), alone("d"))
	a := p.on()
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, []string{"a", "b", "c", "d"}, p.names())
	require.Equal(t, int32(1), most.Load())
}

func TestSequentialCallsDoNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	first := sequential("a", agent.Idempotent)
	first.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		<-started // the call beside it is under way
		return says("done")(ctx, call)
	}
	beside := tool("b", agent.Idempotent, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		close(started)
		return says("done")(ctx, call)
	})
	require.Equal(t, PrepareModelRequest, playOf(t, first, beside).on().node)
}

func TestSequentialCallsAreMarkedOneByOne(t *testing.T) {
	t.Parallel()
	lost := sequential("lost", agent.Unsafe)
	lost.call = fails(&local.Error{Kind: local.Unknown, Code: "tool_connection_lost"})
	p := playOf(t, sequential("first", agent.Unsafe), lost, sequential("last", agent.Unsafe))
	p.on()
	require.Equal(t, []string{"first", "lost"}, p.names(), "what comes behind waits")
	require.Equal(t, execution.OutcomeUnknown, p.parked.Reason)
	require.Equal(t, journal.Planned, p.entry("call_0_2").State, "and is known not to have happened")
	a := p.on(p.decide(execution.Decision{CallID: "call_0_1", Decision: execution.Reject}))
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, []string{"first", "lost", "last"}, p.names())
}

func TestSequentialCallsWaitForTheApprovalOfThoseBefore(t *testing.T) {
	t.Parallel()
	first, second := sequential("first", agent.Unsafe), sequential("second", agent.Unsafe)
	first.spec.Approval, second.spec.Approval = agent.Approval{Always: true}, agent.Approval{Always: true}
	p := playOf(t, first, second, sequential("third", agent.Unsafe), tool("beside", agent.Unsafe, nil))
	p.on()
	require.Equal(t, []string{"beside"}, p.names())
	require.Len(t, p.parked.Calls, 2)
	p.on(p.decide(execution.Decision{CallID: "call_0_1", Decision: execution.Approve}))
	require.Equal(t, []string{"beside"}, p.names(), "the second is approved, and waits for the first")
	a := p.on(p.decide(execution.Decision{CallID: "call_0_0", Decision: execution.Approve}))
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, []string{"beside", "first", "second", "third"}, p.names())
}

func TestSequentialCallBehindOneThatIsTriedAgainWaits(t *testing.T) {
	t.Parallel()
	busy := sequential("busy", agent.Unsafe)
	busy.call = fails(&local.Error{Kind: local.Transient, Code: "refused"})
	p := playOf(t, busy, sequential("last", agent.Unsafe))
	env := &fakeEnv{now: 1000}
	a, err := newMachine(p.s, env).run(t.Context())
	require.NoError(t, err)
	require.NotNil(t, a.back.retry)
	require.Equal(t, []string{"busy"}, p.names())
	require.Equal(t, []execution.CallID{"call_0_0"}, env.marked)
	require.Equal(t, []execution.CallID{"call_0_0"}, a.back.unsent, "its mark is taken back")
}
