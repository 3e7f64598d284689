package executor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// spawning is an environment in which executions can have children.
type spawning struct {
	*fakeEnv
	children []childRun
	before   map[execution.CallID]execution.Limits // limits of children that are there already
	err      error
}

func (e *spawning) Spawn(_ context.Context, child childRun) (execution.Limits, error) {
	if e.err != nil {
		return execution.Limits{}, e.err
	}
	e.children = append(e.children, child)
	if limits, there := e.before[child.call]; there {
		return limits, nil
	}
	return child.limits, nil
}

// agentTool is a tool that runs an agent; calls say what it answers when it is called itself.
func agentTool(name, called string, mode agent.DelegateMode, call func(context.Context, local.Invocation) (local.Answer, error)) *fakeTool {
	t := tool(name, agent.Idempotent, call)
	t.spec.Delegate = &local.Delegate{Agent: called, Mode: mode}
	return t
}

// asking is a call of an agent tool.
func prompting(index int, name, prompt string) execution.ToolCall {
	call := callOf(index, name)
	arguments, err := json.Marshal(map[string]string{"prompt": prompt})
	if err != nil {
		panic(err)
	}
	call.Arguments = arguments
	return call
}

// finding knows the agents.
func finding(definitions ...*agent.Definition) local.AgentFinder {
	return func(_ context.Context, name string) (*agent.Definition, error) {
		for _, d := range definitions {
			if d.Name == name {
				return d, nil
			}
		}
		return nil, fmt.Errorf("%w: %s", local.ErrNoAgent, name)
	}
}

// delegating is a situation at tool_call with a call of each tool.
func delegating(t *testing.T, limits execution.Limits, tools ...*fakeTool) situation {
	t.Helper()
	return at(ToolCall, func(s *situation) {
		var calls []execution.ToolCall
		for i, tool := range tools {
			call := prompting(i, tool.spec.Name, fmt.Sprintf("do %d", i))
			calls = append(calls, call)
			s.kit.Tools = append(s.kit.Tools, tool)
			s.ledger = append(s.ledger, planned(t, call, journal.Planned, ""))
		}
		s.state.Turn, s.state.Batch, s.state.Limits = 1, batchOf(calls...), limits
		s.find, s.maxDepth = finding(&agent.Definition{Name: "researcher"}), DefaultMaxDepth
	})
}

func requestsOf(children []childRun) (out []int64) {
	for _, child := range children {
		out = append(out, child.limits.MaxModelRequests)
	}
	return out
}

func contentOf(t *testing.T, result execution.ToolResult) string {
	t.Helper()
	var text string
	require.NoError(t, json.Unmarshal(result.Content, &text))
	return text
}

func TestDurableAgentsBecomeChildrenThatAreWaitedFor(t *testing.T) {
	t.Parallel()
	research := agentTool("research", "researcher", agent.Durable, nil)
	s := delegating(t, execution.Limits{}, research, tool("pay", agent.Unsafe, says("paid")), research)
	env := &spawning{fakeEnv: &fakeEnv{now: 1000}}
	a, err := newMachine(s, env).run(t.Context())
	require.NoError(t, err)
	require.Equal(t, ToolReturn, a.node)
	require.Equal(t, journal.Then{
		Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: []execution.RequestID{"child:call_0_0", "child:call_0_2"},
	}, a.then)
	require.Len(t, env.children, 2)
	require.Equal(t, []string{"do 0", "do 2"}, []string{env.children[0].prompt, env.children[1].prompt})
	require.Equal(t, 1, env.children[0].depth)
	require.Equal(t, []execution.CallID{"call_0_1"}, env.marked, "agents are started, not sent")
	require.Equal(t, []execution.CallID{"call_0_0", "call_0_2"}, a.state.Batch.in(CallDelegated))
	require.Equal(t, 2, NewEvidence(a.node, a.state).DeferredToolCount)
	require.Equal(t, StatusWaiting, a.state.Status)
}

func TestLimitsAreDividedAmongTheAgentsOfABatch(t *testing.T) {
	t.Parallel()
	research := agentTool("research", "researcher", agent.Durable, nil)
	limits := execution.Limits{MaxModelRequests: 10, MaxTotalTokens: 100}
	spend := func(s situation) situation {
		s.state.Usage = execution.Usage{Requests: 2, TotalTokens: 40}
		return s
	}
	t.Run("evenly, the first ones getting the rest", func(t *testing.T) {
		t.Parallel()
		env := &spawning{fakeEnv: &fakeEnv{}}
		_, err := newMachine(spend(delegating(t, limits, research, research, research)), env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{3, 3, 2}, requestsOf(env.children))
		require.Equal(t, int64(20), env.children[2].limits.MaxTotalTokens)
	})
	t.Run("what is not taken is left to the others", func(t *testing.T) {
		t.Parallel()
		small := agentTool("small", "researcher", agent.Durable, nil)
		small.spec.Delegate.Limits = execution.Limits{MaxModelRequests: 1}
		env := &spawning{fakeEnv: &fakeEnv{}}
		_, err := newMachine(spend(delegating(t, limits, small, research, research)), env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{1, 4, 3}, requestsOf(env.children))
	})
	t.Run("nothing left is an error that the model reads", func(t *testing.T) {
		t.Parallel()
		env := &spawning{fakeEnv: &fakeEnv{}}
		s := spend(delegating(t, execution.Limits{MaxModelRequests: 4}, research, research, research))
		a, err := newMachine(s, env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{1, 1}, requestsOf(env.children))
		require.Len(t, env.receipts, 1)
		require.Contains(t, contentOf(t, env.receipts[0].result), "nothing is left of the limit maxModelRequests (4)")
		require.Len(t, a.state.Batch.in(CallDelegated), 2)
	})
	t.Run("what is there already keeps its part", func(t *testing.T) {
		t.Parallel()
		env := &spawning{fakeEnv: &fakeEnv{}, before: map[execution.CallID]execution.Limits{"call_0_0": {MaxModelRequests: 7}}}
		_, err := newMachine(spend(delegating(t, limits, research, research, research)), env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{3, 1}, requestsOf(env.children)[:2])
		require.Len(t, env.children, 2, "of 8 the first one has 7")
	})
	t.Run("those who wait for an approval have theirs", func(t *testing.T) {
		t.Parallel()
		asked := agentTool("asked", "researcher", agent.Durable, nil)
		asked.spec.Approval = agent.Approval{Always: true}
		env := &spawning{fakeEnv: &fakeEnv{now: 1}}
		a, err := newMachine(spend(delegating(t, limits, research, asked)), env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, []int64{4}, requestsOf(env.children))
		require.Equal(t, execution.WaitInput, a.then.WaitKind, "people are asked first")
		require.Len(t, a.then.Await, 1)
	})
	t.Run("time", func(t *testing.T) {
		t.Parallel()
		s := delegating(t, execution.Limits{}, research)
		s.deadlineAtMs = 61_000
		env := &spawning{fakeEnv: &fakeEnv{now: 1000}}
		_, err := newMachine(s, env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, time.Minute, env.children[0].limits.Deadline)
	})
	t.Run("money", func(t *testing.T) {
		t.Parallel()
		env := &spawning{fakeEnv: &fakeEnv{}}
		_, err := newMachine(delegating(t, execution.Limits{MaxCost: 5}, research), env).run(t.Context())
		require.NoError(t, err)
		require.Empty(t, env.children)
		require.Contains(t, contentOf(t, env.receipts[0].result), "no price is known of the agent's model")
	})
	t.Run("an agent without tools needs no tool calls", func(t *testing.T) {
		t.Parallel()
		env := &spawning{fakeEnv: &fakeEnv{}}
		_, err := newMachine(delegating(t, execution.Limits{MaxToolCalls: 1}, research), env).run(t.Context())
		require.NoError(t, err)
		require.Equal(t, execution.Limits{}, env.children[0].limits)
	})
}

func TestCallsOfAgentsThatCannotBeRunAreErrorsOfTheModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*situation)
		err    error
		want   string
		kind   execution.ToolErrorKind
	}{
		"a blank prompt": {func(s *situation) {
			call := prompting(0, "research", " \n")
			plan, _ := newPlan(testID, call)
			s.ledger[0].Intent = plan.Intent
		}, nil, `the argument "prompt" is required`, execution.ToolInvalidArguments},
		"too deep":          {func(s *situation) { s.state.Depth = DefaultMaxDepth }, nil, "at most 5 deep", execution.ToolExecution},
		"an unknown agent":  {func(s *situation) { s.find = finding() }, nil, "there is no agent researcher", execution.ToolNotFound},
		"no agents":         {func(s *situation) { s.find = nil }, nil, "there is no agent researcher", execution.ToolNotFound},
		"too many children": {nil, journal.ErrLimit, "at most 256 of them", execution.ToolExecution},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := delegating(t, execution.Limits{}, agentTool("research", "researcher", agent.Durable, nil))
			if c.change != nil {
				c.change(&s)
			}
			env := &spawning{fakeEnv: &fakeEnv{}, err: c.err}
			a, err := newMachine(s, env).run(t.Context())
			require.NoError(t, err)
			require.Equal(t, ToolReturn, a.node)
			require.Equal(t, journal.ThenContinue, a.then.Kind)
			require.Len(t, env.receipts, 1)
			require.Contains(t, contentOf(t, env.receipts[0].result), c.want)
			require.Equal(t, c.kind, env.receipts[0].result.ErrorKind)
		})
	}
}

func TestAStoreThatIsFullOrSilentStartsNoAgent(t *testing.T) {
	t.Parallel()
	full := &spawning{fakeEnv: &fakeEnv{}, err: journal.ErrOverloaded}
	a, err := newMachine(delegating(t, execution.Limits{}, agentTool("research", "researcher", agent.Durable, nil)), full).run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "overloaded", a.back.retry.Code)

	silent := &spawning{fakeEnv: &fakeEnv{}, err: journal.ErrUnavailable}
	_, err = newMachine(delegating(t, execution.Limits{}, agentTool("research", "researcher", agent.Durable, nil)), silent).run(t.Context())
	require.ErrorIs(t, err, journal.ErrUnavailable)
}

func TestSequentialAgentsAreStartedOneAfterTheOther(t *testing.T) {
	t.Parallel()
	research := agentTool("research", "researcher", agent.Durable, nil)
	research.spec.Sequential = true
	s := delegating(t, execution.Limits{MaxModelRequests: 6}, research, research)
	env := &spawning{fakeEnv: &fakeEnv{}}
	a, err := newMachine(s, env).run(t.Context())
	require.NoError(t, err)
	require.Equal(t, []int64{3}, requestsOf(env.children))
	require.Equal(t, []execution.RequestID{"child:call_0_0"}, a.then.Await)
	require.Equal(t, []execution.CallID{"call_0_1"}, a.state.Batch.in(CallOutstanding))
}

// childEnded is the inbox entry of a child.
func childEnded(t *testing.T, call execution.CallID, result journal.ChildResult) journal.InboxEntry {
	t.Helper()
	result.Type, result.ExecutionID = journal.ChildResultType, execution.ChildID(testID, call)
	payload, err := json.Marshal(result)
	require.NoError(t, err)
	return journal.InboxEntry{RequestID: execution.ChildRequest(call), Payload: payload}
}

// waitingFor is a situation at tool_return whose calls are carried out by children.
func waitingFor(t *testing.T, calls int) situation {
	t.Helper()
	research := agentTool("research", "researcher", agent.Durable, nil)
	tools := make([]*fakeTool, calls)
	for i := range tools {
		tools[i] = research
	}
	s := delegating(t, execution.Limits{}, tools...)
	s.node, s.state.Status = ToolReturn, StatusWaiting
	for i := range s.state.Batch.Calls {
		s.state.Batch.Calls[i].delegated(&Child{Limits: execution.Limits{MaxModelRequests: 1}})
	}
	return s
}

func TestResultsOfChildrenBecomeReceiptsAndUsage(t *testing.T) {
	t.Parallel()
	s := waitingFor(t, 4)
	s.state.Usage = execution.Usage{Requests: 1, TotalTokens: 5}
	s.inbox = []journal.InboxEntry{
		childEnded(t, "call_0_0", journal.ChildResult{
			State: execution.Completed, Outcome: &execution.Outcome{Answer: "found"}, Usage: execution.Usage{Requests: 3, TotalTokens: 7, LostRequests: 1},
		}),
		childEnded(t, "call_0_1", journal.ChildResult{
			State: execution.Failed, Failure: &execution.Failure{Code: "usage_limit_exceeded", Message: "limit reached"}, Usage: execution.Usage{Requests: 2},
		}),
		childEnded(t, "call_0_2", journal.ChildResult{State: execution.Canceled}),
		childEnded(t, "call_0_3", journal.ChildResult{State: execution.Failed, Failure: &execution.Failure{Code: execution.CodeDeadlineExceeded}}),
	}
	a, env := do(t, s)
	require.Equal(t, PrepareModelRequest, a.node)
	require.Equal(t, []execution.RequestID{"child:call_0_0", "child:call_0_1", "child:call_0_2", "child:call_0_3"}, a.consumed)
	require.Equal(t, execution.Usage{Requests: 6, TotalTokens: 12, ToolCalls: 1, DelegatedRequests: 5}, a.state.Usage)
	require.Equal(t, int64(1), a.state.Usage.OwnRequests())
	require.Equal(t, StatusRunning, a.state.Status)
	var texts []string
	for _, r := range env.receipts {
		texts = append(texts, contentOf(t, r.result))
	}
	require.Equal(t, []string{
		"found", "the agent's run ended: failed: usage_limit_exceeded: limit reached", "the agent's run ended: canceled",
		"the agent's run ended: timeout",
	}, texts)
}

func TestAResultThatHasItsReceiptIsNotCountedAgain(t *testing.T) {
	t.Parallel()
	s := waitingFor(t, 1)
	call := prompting(0, "research", "do 0")
	s.ledger[0] = received(t, call, execution.TextResult(call, "found"))
	s.state.Usage = execution.Usage{Requests: 4, DelegatedRequests: 3, ToolCalls: 1} // the row's
	s.inbox = []journal.InboxEntry{childEnded(t, "call_0_0", journal.ChildResult{State: execution.Completed, Usage: execution.Usage{Requests: 3}})}
	a, env := do(t, s)
	require.Empty(t, env.receipts)
	require.Equal(t, s.state.Usage, a.state.Usage)
	require.Equal(t, []execution.RequestID{"child:call_0_0"}, a.consumed)
	require.Equal(t, PrepareModelRequest, a.node)
}

func TestAResumedExecutionGoesOnWaitingForItsChildren(t *testing.T) {
	t.Parallel()
	s := waitingFor(t, 2)
	s.inbox = []journal.InboxEntry{childEnded(t, "call_0_0", journal.ChildResult{State: execution.Completed})}
	a, _ := do(t, s)
	require.Equal(t, journal.Then{
		Kind: journal.ThenPark, WaitKind: execution.WaitChild, Await: []execution.RequestID{"child:call_0_1"},
	}, a.then)
	require.Equal(t, []execution.RequestID{"child:call_0_0"}, a.consumed)
}

func TestAgentsInsideACallSpendTheCallersLimits(t *testing.T) {
	t.Parallel()
	var given []local.Grant
	quick := agentTool("quick", "researcher", agent.Ephemeral, func(_ context.Context, call local.Invocation) (local.Answer, error) {
		given = append(given, *call.Grant)
		result := execution.TextResult(call.Call, "found")
		return local.Answer{Result: &result, Usage: execution.Usage{Requests: 2, InputTokens: 4}}, nil
	})
	quick.spec.Recovery, quick.spec.Sequential = agent.Unsafe, true
	s := delegating(t, execution.Limits{MaxModelRequests: 9}, quick, quick)
	s.state.Usage, s.state.Depth = execution.Usage{Requests: 1}, 2
	env := &spawning{fakeEnv: &fakeEnv{}}
	a, err := newMachine(s, env).run(t.Context())
	require.NoError(t, err)
	require.Empty(t, env.children)
	require.Len(t, given, 2)
	require.Equal(t, "researcher", given[0].Definition.Name)
	require.Equal(t, 3, given[0].Depth)
	require.Equal(t, int64(4), given[0].Limits.MaxModelRequests)
	require.Equal(t, int64(6), given[1].Limits.MaxModelRequests, "the first one has used 2 of its 4")
	require.Equal(t, execution.Usage{Requests: 5, InputTokens: 8, ToolCalls: 2, DelegatedRequests: 4}, a.state.Usage)
	require.Equal(t, []execution.CallID{"call_0_0", "call_0_1"}, env.marked)
}

func TestAnInterruptedAgentInsideACallIsPaidFor(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	quick := agentTool("quick", "researcher", agent.Ephemeral, func(ctx context.Context, _ local.Invocation) (local.Answer, error) {
		cancel(ErrDrained)
		return local.Answer{Usage: execution.Usage{Requests: 3}}, context.Cause(ctx)
	})
	a, err := newMachine(delegating(t, execution.Limits{}, quick), &fakeEnv{}).run(ctx)
	require.ErrorIs(t, err, ErrDrained)
	require.Equal(t, execution.Usage{Requests: 3, DelegatedRequests: 3}, a.state.Usage)
}

func TestAnAgentInsideACallWhoseOutcomeIsUnknownIsNotRunAgain(t *testing.T) {
	t.Parallel()
	quick := agentTool("quick", "researcher", agent.Ephemeral, func(context.Context, local.Invocation) (local.Answer, error) {
		return local.Answer{}, errors.New("must not be called")
	})
	quick.spec.Recovery, quick.spec.OnUnknown = agent.Unsafe, agent.UnknownAsk
	s := delegating(t, execution.Limits{}, quick)
	s.ledger[0] = planned(t, prompting(0, "quick", "do 0"), journal.Started, "1-before")
	a, env := do(t, s)
	require.Empty(t, env.marked)
	require.Equal(t, execution.OutcomeUnknown, a.then.Interaction.Reason)
}
