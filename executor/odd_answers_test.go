package executor

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// What does not fit has thousands of places, or says all of itself again: what is told of it stays short.
func TestAMisfitIsToldInShort(t *testing.T) {
	t.Parallel()
	long := `"` + strings.Repeat("é", 1<<14) + `"`
	for name, c := range map[string][2]string{
		"many places": {`{"type":"array","items":{"type":"string"}}`, "[" + strings.Repeat("1,", 5_000) + "1]"},
		"a pattern":   {`{"pattern":"^a"}`, long},
		"a key":       {`{"additionalProperties":false}`, "{" + long + ":1}"},
	} {
		err := newSchemas().fits(json.RawMessage(c[0]), []byte(c[1]))
		require.ErrorContains(t, err, "does not fit: at ", name)
		require.Less(t, len(err.Error()), maxMisfits*(maxMisfit+8), name)
	}
	err := newSchemas().fits(json.RawMessage(`{"type":"array","items":{"type":"string"}}`), []byte("["+strings.Repeat("1,", 99)+"1]"))
	require.ErrorContains(t, err, "at '/0': got number, want string; at '/1'")
	require.ErrorContains(t, err, "; and 80 more")
	require.Equal(t, strings.Repeat("é", maxMisfit/4)+" … "+strings.Repeat("é", maxMisfit/4), shortened(strings.Repeat("é", 1<<10)))
}

// A server that counts below zero, or above all numbers, takes nothing back from a limit and breaks no sum.
func TestCountsThatNoServerShouldReport(t *testing.T) {
	t.Parallel()
	reported := &execution.Usage{InputTokens: -5, OutputTokens: 7, TotalTokens: -9, CacheReadTokens: -1, Requests: -3, ToolCalls: -4}
	a, _ := do(t, at(BeforeModelRequest, func(s *situation) {
		s.state.Usage = execution.Usage{Requests: 1, InputTokens: 10, TotalTokens: 10}
		s.kit.Model = script(local.ModelResponse{Text: "hi", Usage: reported})
	}))
	require.Equal(t, execution.Usage{Requests: 2, InputTokens: 10, OutputTokens: 7, TotalTokens: 17}, a.state.Usage)
}

// A boundary that cannot be written, because an adapter gave what is no JSON, is tried again like any failure and then
// suspended: nobody waits for its claim to run out.
func TestABoundaryThatCannotBeWrittenIsHandedBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		bad := local.ModelResponse{Text: "hi", Provider: &execution.ProviderState{Name: "odd", Data: json.RawMessage("{")}}
		w := newWorld(t, &agent.Definition{}, &local.Kit{Model: script(bad)}, nil)
		row := w.drive()
		require.Equal(t, execution.ReasonRetriesExhausted, row.Suspension.Reason)
		require.Contains(t, row.Suspension.Detail, "encode message")
		require.Zero(t, row.Reclaims)
		require.EqualValues(t, maxAttempts, row.Usage.Requests)
	})
}

// The cursor of a run that fails because its log is full counts the messages that are there.
func TestAFullLogCountsNoMessageThatItRefused(t *testing.T) {
	t.Parallel()
	for _, node := range []Node{ModelResponse, PrepareModelRequest} {
		t.Run(string(node), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				full := &flaky{}
				kit := &local.Kit{Model: script(calling("read"), text("end")), Tools: []local.Tool{tool("read", agent.ReadOnly, says("x"))}}
				w := newWorld(t, &agent.Definition{}, kit, func(c *Config) {
					full.Store = c.Store
					c.Store = full
				})
				before := map[Node]Node{ModelResponse: BeforeModelRequest, PrepareModelRequest: ToolReturn}[node]
				w.to(before)
				refused := false
				full.refuse(func(method string) error {
					if method == "commit" && !refused {
						refused = true
						return journal.ErrLimit
					}
					return nil
				})
				require.Equal(t, execution.CodeEventLimitExceeded, w.drive().Failure.Code)
				checkpoints := w.checkpoints()
				require.Equal(t, len(w.history()), checkpoints[len(checkpoints)-1].Resume.Cursor.MessageCursor)
			})
		})
	}
}

// A tool whose time is over before it is called is tried again later, and not at once and for ever.
func TestATimeoutBeforeTheCall(t *testing.T) {
	t.Parallel()
	quick := tool("quick", agent.Unsafe, says("x"))
	quick.spec.Timeout, quick.spec.Delegated = time.Nanosecond, true
	env := &fakeEnv{}
	a, err := newMachine(inBatch(t, quick), &slowCredential{fakeEnv: env}).run(t.Context())
	require.NoError(t, err)
	require.Equal(t, "tool_timeout", a.back.retry.Code)
	require.Equal(t, env.marked, a.back.unsent, "it was never called")
}

// slowCredential has a token when its caller waits no more.
type slowCredential struct{ *fakeEnv }

func (s *slowCredential) Sure(ctx context.Context) error { return ctx.Err() }

func (s *slowCredential) Credential(ctx context.Context, _ execution.Credential) (execution.Credential, error) {
	<-ctx.Done()
	return execution.NewCredential("late"), nil
}

// A worker that stops before an unsafe call was sent, as its tool says, leaves no unknown outcome.
func TestAnInterruptedCallThatWasNeverSent(t *testing.T) {
	t.Parallel()
	for kind, want := range map[local.ErrorKind]int{local.Transient: 1, local.Unknown: 0} {
		ctx, cancel := context.WithCancelCause(t.Context())
		pay := tool("pay", agent.Unsafe, func(context.Context, local.Invocation) (local.Answer, error) {
			cancel(ErrDrained)
			return local.Answer{}, &local.Error{Kind: kind, Code: "canceled"}
		})
		a, err := newMachine(inBatch(t, pay), &fakeEnv{}).run(ctx)
		require.ErrorIs(t, err, ErrDrained)
		require.Len(t, a.back.unsent, want, kind)
	}
}
