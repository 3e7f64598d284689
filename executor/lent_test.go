package executor

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// lending is a set of one tool, whose recovery class is known to whoever has asked for the tools.
type lending struct {
	*fakeTool

	mu   sync.Mutex
	lent []*borrowed // guarded by mu
}

// borrowed is the set as a claim has it.
type borrowed struct {
	*lending
	bearer local.Bearer
	name   string
	asked  bool
	done   int
	goesOn int
}

func newLending() *lending {
	set := &lending{fakeTool: tool("s", agent.Unsafe, nil)}
	set.spec.Delegated = true
	return set
}

func (l *lending) Tools(context.Context) ([]local.Tool, error) { return nil, nil }

func (l *lending) Find(name string) local.Tool { return (&borrowed{lending: l}).Find(name) }

func (l *lending) For(claim local.Claim) (set local.ToolSet, done func(bool)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	own := &borrowed{lending: l, bearer: claim.Bearer, name: claim.Name}
	l.lent = append(l.lent, own)
	return own, func(goesOn bool) {
		if own.done++; goesOn {
			own.goesOn++
		}
	}
}

func (b *borrowed) Tools(ctx context.Context) ([]local.Tool, error) {
	if _, err := b.bearer(ctx, execution.Credential{}); local.KindOf(err) == local.Transient && err != nil {
		return nil, err
	}
	b.asked = true
	return []local.Tool{b.Find("s_one")}, nil
}

func (b *borrowed) Find(name string) local.Tool {
	if name != "s_one" {
		return nil
	}
	one := tool(name, agent.Unsafe, func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		token, err := b.bearer(ctx, execution.Credential{})
		if err != nil {
			return local.Answer{}, err
		}
		return says(strings.ReplaceAll(token.Reveal(), string(call.Execution), "E"))(ctx, call)
	})
	if one.spec.Delegated = true; b.asked {
		one.spec.Recovery = agent.ReadOnly
	}
	return one
}

func TestAClaimHasDelegatedSetsOfItsOwn(t *testing.T) {
	t.Parallel()
	for nodes, claims := range map[int]int{1: 7, 64: 1} {
		set := newLending()
		kit := &local.Kit{Model: script(calling("s_one", "s_one"), text("end")), Tools: []local.Tool{set, tool("other", "", says("x"))}}
		w := newWorld(t, &agent.Definition{}, kit, func(c *Config) {
			c.Delegations, c.NodesPerTask = &leases{revision: 1, good: 2}, nodes
		})
		w.lease = &journal.Delegation{LeaseRef: "lease", Revision: 1}
		_, _ = w.queue.pop() // the world's own execution is not what is looked at
		w.submit(&agent.Definition{Name: "demo"})
		w.to(RunComplete)
		require.Equal(t, 2, strings.Count(results(t, w), "E/lease/2"), "renewed in time")
		require.GreaterOrEqual(t, len(set.lent), claims)
		asked := 0
		for _, own := range set.lent {
			require.Equal(t, 1, own.done, "it ends with its claim")
			if own.asked {
				asked++
			}
		}
		require.Zero(t, set.lent[len(set.lent)-1].goesOn, "nothing follows")
		for _, own := range set.lent[:len(set.lent)-1] {
			require.Equal(t, 1, own.goesOn, "the next step follows at once")
			require.Equal(t, set.lent[0].name, own.name)
		}
		require.Contains(t, set.lent[0].name, string(w.id))
		require.Equal(t, min(3, len(set.lent)), asked, "by the model's requests, and before the calls")
		started := 0
		ledger, err := w.store.Ledger(t.Context(), w.id, []execution.CallID{"call_0_0", "call_0_1"})
		require.NoError(t, err)
		for _, entry := range ledger {
			if entry.StartedFence != "" {
				started++
			}
		}
		require.Zero(t, started, "the tool only reads, as its server has said")
	}
}

func TestDelegatedSetsOfAnExecutionThatActsForNobody(t *testing.T) {
	t.Parallel()
	for name, broker := range map[string]Delegations{"no broker": nil, "a broker": &leases{revision: 1}} {
		set := newLending()
		kit := &local.Kit{Model: script(calling("s_one"), text("end")), Tools: []local.Tool{set}}
		w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.Delegations = broker })
		require.Equal(t, execution.Completed, w.drive().State, name)
		require.Contains(t, results(t, w), "submitted without one", name)
		_, err := set.lent[0].bearer(t.Context(), execution.Credential{})
		var none *local.Error
		require.ErrorAs(t, err, &none)
		require.Equal(t, local.Permanent, none.Kind)
	}
}

func TestDelegatedSetsOfALostLease(t *testing.T) {
	t.Parallel()
	set := newLending()
	broker := &leases{revision: 1, lost: delegation.ErrLost}
	kit := &local.Kit{Model: script(calling("s_one"), text("end")), Tools: []local.Tool{set}}
	w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.Delegations = broker })
	w.lease = &journal.Delegation{LeaseRef: "lease", Revision: 1}
	_, _ = w.queue.pop()
	w.submit(&agent.Definition{Name: "demo"})
	w.to(RunComplete)
	require.Contains(t, results(t, w), "has ended")
}

func TestAModelIsNotAskedWhileNoTokenCanBeHad(t *testing.T) {
	t.Parallel()
	set := newLending()
	broker := &leases{revision: 1, lost: delegation.ErrUnavailable}
	kit := &local.Kit{Model: script(text("without its tools")), Tools: []local.Tool{set}}
	w := newWorld(t, &agent.Definition{}, kit, func(c *Config) { c.Delegations = broker })
	w.lease = &journal.Delegation{LeaseRef: "lease", Revision: 1}
	_, _ = w.queue.pop()
	w.submit(&agent.Definition{Name: "demo"})
	w.to(BeforeModelRequest)
	require.NoError(t, w.next())
	require.Equal(t, execution.WaitRetry, w.row().Wait.Kind)
	require.Zero(t, w.row().Usage.Requests)
}
