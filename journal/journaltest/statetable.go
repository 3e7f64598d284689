package journaltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// driver tries one move of the state table.
type driver struct {
	// prepare brings a row in the state further, to where the move happens if the state has it.
	prepare func(a *actor)
	try     func(a *actor) error
	// never lists states of the table's From in which the move cannot come to pass: nothing leads there.
	never []execution.State
}

// stateTable drives every pair of state and move.
func stateTable(t *testing.T, open Open) {
	t.Helper()
	drivers := drivers()
	for _, rule := range journal.StateTable() {
		d, ok := drivers[rule.Move]
		if !ok {
			t.Errorf("move %s has no driver", rule.Move)
			continue
		}
		for _, state := range execution.States() {
			if slices.Contains(d.never, state) {
				continue
			}
			t.Run(fmt.Sprintf("%s in %s", rule.Move, state), func(t *testing.T) {
				t.Parallel()
				drive(t, newBench(t, open, nil), rule, d, state)
			})
		}
	}
}

func drive(t *testing.T, b *bench, rule journal.Rule, d driver, state execution.State) {
	t.Helper()
	a := b.arrange(state)
	if slices.Contains(rule.From, state) {
		if d.prepare != nil {
			d.prepare(a)
		}
		err := d.try(a)
		refused := &journal.ClaimRefused{}
		if !errors.As(err, &refused) {
			require.NoError(t, err)
		}
		require.Contains(t, rule.To, a.state())
		requireOneIndex(t, b)
		return
	}
	before := b.Dump()
	err := d.try(a)
	if sibling(rule.Move, state) {
		require.Contains(t, siblingStates(rule.Move, state), a.state(), "another move of the same call")
		return
	}
	require.Equal(t, state, a.state())
	require.Equal(t, before, b.Dump(), "a refusal changes nothing, said %v", err)
}

// family is the call that makes a move: the first word of its name.
func family(move journal.Move) string {
	if strings.HasPrefix(string(move), "complete_") {
		return string(move) // three calls
	}
	name, _, _ := strings.Cut(string(move), "_")
	return name
}

// sibling reports whether the same call makes another move in that state.
func sibling(move journal.Move, state execution.State) bool {
	return len(siblingStates(move, state)) > 0
}

func siblingStates(move journal.Move, state execution.State) (to []execution.State) {
	for _, rule := range journal.StateTable() {
		if family(rule.Move) == family(move) && rule.Move != move && slices.Contains(rule.From, state) {
			to = append(append(to, rule.To...), state)
		}
	}
	return to
}

// requireOneIndex requires that every row has its entry in exactly one index, and that no entry has no row.
func requireOneIndex(tb testing.TB, b *bench) {
	tb.Helper()
	count := map[string]int{}
	for _, members := range b.Indexes() {
		for member := range members {
			count[member]++
		}
	}
	for member, n := range count {
		require.Equal(tb, 1, n, "%s is in %d indexes", member, n)
		_, err := b.Store.Get(b.ctx(), execution.ID(member))
		require.NoError(tb, err, "%s has an entry and no row", member)
	}
}

func drivers() map[journal.Move]driver {
	all := map[journal.Move]driver{}
	for _, some := range []map[journal.Move]driver{
		claimDrivers(), commitDrivers(), holderDrivers(), commandDrivers(), reaperDrivers(),
	} {
		for move, d := range some {
			all[move] = d
		}
	}
	return all
}

func claimDrivers() map[journal.Move]driver {
	try := func(a *actor) error { return a.tryClaim() }
	queued := []execution.State{execution.Queued} // nobody held it, so nothing was recorded and nothing ran out
	return map[journal.Move]driver{
		journal.MoveClaim:         {try: try},
		journal.MoveClaimCanceled: {prepare: func(a *actor) { a.claim().cancel(); a.runOut() }, try: try, never: queued},
		journal.MoveClaimPaused:   {prepare: func(a *actor) { a.claim().pause(); a.runOut() }, try: try, never: queued},
		journal.MoveClaimQuarantined: {
			prepare: func(a *actor) { a.claim().runOut().claim().runOut() },
			try:     func(a *actor) error { return a.tryClaim(func(q *journal.ClaimRequest) { q.MaxReclaims = 1 }) },
			never:   queued,
		},
	}
}

func commitDrivers() map[journal.Move]driver {
	hold := func(a *actor) { a.claim() }
	commit := func(then journal.Then) driver {
		return driver{prepare: hold, try: func(a *actor) error {
			_, err := a.b.Store.Commit(a.b.ctx(), a.commitOf(then))
			return err
		}}
	}
	finalize := commit(completeWith("done"))
	finalize.prepare = func(a *actor) { a.claim().attach() }
	canceled := commit(completeWith("done"))
	canceled.prepare = func(a *actor) { a.claim().cancel() }
	return map[journal.Move]driver{
		journal.MoveCommitContinue:    commit(goOn()),
		journal.MoveCommitPark:        commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote, Wait: time.Second}),
		journal.MoveCommitInteraction: commit(ask()),
		journal.MoveCommitSuspend:     commit(journal.Then{Kind: journal.ThenSuspend, Suspension: policy()}),
		journal.MoveCommitComplete:    commit(completeWith("done")),
		journal.MoveCommitFail:        commit(failWith("model_error")),
		journal.MoveCommitFinalize:    finalize,
		journal.MoveCommitCanceled:    canceled,
		journal.MoveRelease: {prepare: hold, try: func(a *actor) error {
			_, err := a.b.Store.Release(a.b.ctx(), journal.Release{Hold: a.next()})
			return err
		}},
		journal.MoveReleaseSuspend: {prepare: hold, try: func(a *actor) error {
			suspension := policy()
			_, err := a.b.Store.Release(a.b.ctx(), journal.Release{Hold: a.next(), Suspension: &suspension})
			return err
		}},
	}
}

// holderDrivers try the numbered calls. Finalizing with a holder is reached by a transition of its own.
func holderDrivers() map[journal.Move]driver {
	calls := fencedCalls()
	hold := func(a *actor) {
		if a.state() == execution.Finalizing {
			*a = *a.b.finalizing()
			return
		}
		a.claim()
	}
	numbered := func(name string) driver {
		return driver{prepare: hold, try: func(a *actor) error { _, err := calls[name].do(a, a.next()); return err }}
	}
	record := numbered("Record")
	record.prepare = func(a *actor) { *a = *a.b.planned() }
	complete := numbered("CompleteInteraction")
	complete.prepare = func(a *actor) { *a = *a.b.answered() }
	return map[journal.Move]driver{
		journal.MoveRenew:               numbered("Renew"),
		journal.MoveRecord:              record,
		journal.MoveSpawn:               numbered("Spawn"),
		journal.MoveFinalize:            numbered("Transition"),
		journal.MoveFinish:              numbered("Finish"),
		journal.MoveAppendEvent:         numbered("AppendEvent"),
		journal.MoveBeginInteraction:    numbered("BeginInteraction"),
		journal.MoveCompleteInteraction: complete,
		journal.MoveAttachDelegation:    numbered("AttachDelegation"),
		journal.MoveStart: {prepare: hold, never: []execution.State{execution.Queued}, try: func(a *actor) error {
			_, err := a.b.Store.TransitionWithEvent(a.b.ctx(), a.next(), anyState,
				journal.Ending{State: execution.Running}, execution.ExecutionStarted{})
			return err
		}},
	}
}

func commandDrivers() map[journal.Move]driver {
	command := func(name string) driver { return driver{try: commandCases()[name].do} }
	request := func(name string) driver {
		return driver{prepare: func(a *actor) { a.claim() }, try: commandCases()[name].do}
	}
	complete := command("CompleteDelegationCleanup")
	complete.prepare = func(a *actor) {
		if state := a.state(); state.Terminal() {
			*a = *a.b.reserve().claim().attach()
			_, err := a.b.Store.Finish(a.b.ctx(), a.next(), anyState, endingIn(state))
			require.NoError(a.b.t, err)
		}
	}
	return map[journal.Move]driver{
		journal.MoveInput:            command("CommitInteractionInput"),
		journal.MoveCancel:           command("Cancel"),
		journal.MoveCancelRequest:    request("Cancel"),
		journal.MovePause:            command("Pause"),
		journal.MovePauseRequest:     request("Pause"),
		journal.MoveResume:           command("Resume"),
		journal.MoveTakeBack:         request("TakeBack"),
		journal.MoveTakeBackCanceled: {prepare: func(a *actor) { a.claim().cancel() }, try: commandCases()["TakeBack"].do},
		journal.MoveTakeBackPaused:   {prepare: func(a *actor) { a.claim().pause() }, try: commandCases()["TakeBack"].do},
		journal.MoveDelete:           command("Delete"),
		journal.MoveCompleteCleanup: {
			prepare: func(a *actor) { *a = *a.b.unclean(a.state()) }, try: commandCases()["CompleteCleanup"].do,
		},
		journal.MoveCompleteDelegation: complete,
		journal.MoveDelegate:           {prepare: intend, try: commandCases()["Delegate"].do},
		journal.MoveRefuseDelegation:   {prepare: intend, try: commandCases()["RefuseDelegation"].do},
	}
}

func endingIn(state execution.State) journal.Ending {
	switch state {
	case execution.Completed:
		return completed()
	case execution.Failed:
		return journal.Ending{State: state, Failure: &execution.Failure{Code: "internal", Message: "it broke"}}
	default:
		return journal.Ending{State: state}
	}
}

// reaperDrivers let the entry's time come and do what the sweep says, or the other thing where it does not fit.
func reaperDrivers() map[journal.Move]driver {
	reap := func(name string) func(a *actor) error {
		return func(a *actor) error {
			_, err := recoveryCalls()[name](a.b, a.due())
			return err
		}
	}
	expiring := func(onExpiry execution.OnExpiry) func(a *actor) {
		return func(a *actor) {
			*a = *a.b.reserve().claim()
			a.commit(ask(func(i *execution.Interaction) {
				i.ExpiresAtMs, i.OnExpiry = a.b.clock.Ms()+1000, onExpiry
			}))
		}
	}
	return map[journal.Move]driver{
		journal.MoveRequeue:       {try: reap("Requeue")},
		journal.MoveExpireReject:  {prepare: expiring(""), try: reap("Expire")},
		journal.MoveExpireSuspend: {prepare: expiring(execution.ExpireSuspend), try: reap("Expire")},
		journal.MoveExpireFail: {prepare: func(a *actor) {
			switch a.state() {
			case execution.WaitingForInput:
				expiring(execution.ExpireFail)(a)
			case execution.Running: // parked past its deadline
				*a = *a.b.reserve(func(n *journal.NewExecution) { n.Deadline = time.Minute }).claim()
				a.commit(journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRemote})
			default:
			}
		}, try: reap("Expire")},
		journal.MoveExpireFinalizing:  {try: reap("Expire")},
		journal.MoveExpireCanceled:    {prepare: func(a *actor) { *a = *a.b.left(a.state()) }, try: reap("Expire")},
		journal.MoveExpireUndelegated: {prepare: intend, try: reap("Expire")},
		journal.MovePurge:             {try: reap("Purge")},
	}
}
