package executor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// leases is a broker whose token is good until it has been renewed so often.
type leases struct {
	mu       sync.Mutex
	revision uint64 // guarded by mu
	good     uint64 // from this revision on
	lost     error
	renewed  func() // before the renewal is answered
}

func (l *leases) Token(_ context.Context, id execution.ID, ref delegation.Ref) (delegation.Token, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.lost != nil:
		return delegation.Token{}, l.lost
	case l.revision < l.good:
		return delegation.Token{}, delegation.ErrExpired
	}
	value := fmt.Sprintf("%s/%s/%d", id, string(ref), l.revision)
	return delegation.Token{Value: execution.NewCredential(value), ExpiresAt: time.Now().Add(time.Hour)}, nil
}

func (l *leases) Renew(_ context.Context, _ execution.ID, ref delegation.Ref, _ execution.Credential) (delegation.Lease, error) {
	if l.renewed != nil {
		l.renewed()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.revision++
	return delegation.Lease{Ref: ref, Revision: l.revision, ExpiresAt: time.Unix(1<<33, 0)}, nil
}

// carrying is a tool that says with which token it was called.
func carrying(name string, recovery agent.Recovery) *fakeTool {
	carried := tool(name, recovery, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		return says(strings.ReplaceAll(call.Credential.Reveal(), string(call.Execution), "E"))(ctx, call)
	})
	carried.spec.Delegated = true
	return carried
}

// delegatedWorld is a world whose execution has a lease of revision 1.
func delegatedWorld(t *testing.T, broker Delegations, tools ...local.Tool) *world {
	t.Helper()
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Spec().Name
	}
	kit := &local.Kit{Model: script(calling(names...), text("end")), Tools: tools}
	w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.Delegations = broker })
	w.lease = &journal.Delegation{LeaseRef: "lease", Revision: 1}
	_, _ = w.queue.pop() // the world's own execution is not what is looked at
	w.submit(&agent.Definition{Name: "demo"})
	return w
}

func results(t *testing.T, w *world) string {
	t.Helper()
	messages, err := w.store.Messages(t.Context(), w.id, 0, 100)
	require.NoError(t, err)
	var all strings.Builder
	for _, message := range messages {
		all.Write(message)
	}
	return all.String()
}

func TestADelegatedCallCarriesATokenOfTheLease(t *testing.T) {
	t.Parallel()
	w := delegatedWorld(t, &leases{revision: 1}, carrying("one", agent.Unsafe), tool("two", "", func(
		ctx context.Context, call local.Invocation,
	) (local.Answer, error) {
		return says(fmt.Sprintf("bare: %v", call.Credential.IsZero()))(ctx, call)
	}))
	w.to(RunComplete)
	require.Contains(t, results(t, w), "E/lease/1")
	require.Contains(t, results(t, w), "bare: true", "a call that is not delegated carries nothing")
	require.Equal(t, execution.Finalizing, w.row().State, "until the lease is revoked")
}

func TestALeaseThatWasRenewedIsInTheRowBeforeItsTokenIsUsed(t *testing.T) {
	t.Parallel()
	broker := &leases{revision: 1, good: 2}
	var w *world
	seen := make(chan uint64, 2)
	looking := carrying("one", agent.ReadOnly)
	say := looking.call
	looking.call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		seen <- w.row().Delegation.Revision //nolint:contextcheck // the test looks for itself
		return say(ctx, call)
	}
	w = delegatedWorld(t, broker, looking, carrying("two", agent.ReadOnly))
	w.to(RunComplete)
	require.EqualValues(t, 2, <-seen)
	require.Equal(t, &journal.Delegation{LeaseRef: "lease", Revision: 2, ExpiresAtSeconds: 1 << 33}, w.row().Delegation)
	require.Equal(t, 2, strings.Count(results(t, w), "E/lease/2"), "it is renewed once for all calls of a batch")
	require.EqualValues(t, 2, broker.revision)
}

func TestWhoLostTheClaimUsesNoTokenOfARenewedLease(t *testing.T) {
	t.Parallel()
	broker := &leases{revision: 1, good: 2}
	w := delegatedWorld(t, broker, carrying("one", agent.ReadOnly))
	broker.renewed = func() {
		_, err := w.store.TakeBack(t.Context(), w.id)
		require.NoError(t, err)
	}
	w.to(ToolCall)
	require.NoError(t, w.next())
	require.EqualValues(t, 1, w.row().Delegation.Revision)
	ledger, err := w.store.Ledger(t.Context(), w.id, []execution.CallID{"call_0_0"})
	require.NoError(t, err)
	require.Empty(t, ledger[0].Receipt)
}

func TestACallWithoutATokenIsNotSent(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		says string // empty: it is tried again
	}{
		{errNotDelegated, "submitted without one"},
		{fmt.Errorf("token: %w", delegation.ErrLost), "has ended"},
		{&delegation.Refusal{Reason: "no"}, "has ended"},
		{delegation.ErrUnavailable, ""},
		{errors.New("redis"), ""},
	} {
		tool := carrying("one", agent.Unsafe)
		tool.call = func(context.Context, local.Invocation) (local.Answer, error) {
			t.Error("it was sent")
			return local.Answer{}, nil
		}
		env := &fakeEnv{credentialErr: c.err}
		a, err := newMachine(inBatch(t, tool), env).run(t.Context())
		require.NoError(t, err)
		if c.says == "" {
			require.Equal(t, "delegation_unavailable", a.back.retry.Code)
			require.Equal(t, env.marked, a.back.unsent, "the mark is taken back: nothing was sent")
			continue
		}
		require.Len(t, env.receipts, 1)
		require.True(t, env.receipts[0].result.IsError)
		require.Contains(t, string(env.receipts[0].result.Content), c.says)
	}
}
