package journal_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestTaskQueueSeparatesNewStartedAndSuspect(t *testing.T) {
	t.Parallel()
	require.Equal(t, "default-new", journal.TaskQueue("default", false, false))
	require.Equal(t, "gpu", journal.TaskQueue("gpu", true, false))
	require.Equal(t, execution.SuspectQueue, journal.TaskQueue("gpu", true, true))
	require.Equal(t, execution.SuspectQueue, journal.TaskQueue("gpu", false, true))
}

func TestBaseQueueIsTheNamedOneOrThePriorities(t *testing.T) {
	t.Parallel()
	n := journal.NewExecution{Request: execution.CreateRequest{Priority: execution.Low}}
	require.Equal(t, "low", n.BaseQueue())
	n.Queue = "gpu"
	require.Equal(t, "gpu", n.BaseQueue())
}

func TestSuspectCountsReclaimsAndAClaimThatRanOut(t *testing.T) {
	t.Parallel()
	claim := &journal.Claim{ExpiresAtMs: 100}
	for _, c := range []struct {
		row     journal.Execution
		nowMs   int64
		suspect bool
	}{
		{journal.Execution{}, 100, false},
		{journal.Execution{Claim: claim}, 100, false},
		{journal.Execution{Claim: claim, Reclaims: 1}, 99, false},
		{journal.Execution{Claim: claim, Reclaims: 1}, 100, true},
		{journal.Execution{Reclaims: 1}, 100, false},
		{journal.Execution{Reclaims: 2}, 0, true},
	} {
		require.Equal(t, c.suspect, c.row.Suspect(c.nowMs), "%+v at %d", c.row, c.nowMs)
	}
}

func TestEveryEndingHasItsEvent(t *testing.T) {
	t.Parallel()
	outcome, failure := &execution.Outcome{Answer: "done"}, &execution.Failure{Code: "c", Message: "m"}
	for _, c := range []struct {
		then  journal.Then
		state execution.State
		event execution.Payload
	}{
		{journal.Then{Kind: journal.ThenEnd, Outcome: outcome}, execution.Completed, execution.ExecutionCompleted{Answer: "done"}},
		{journal.Then{Kind: journal.ThenEnd, Failure: failure}, execution.Failed, execution.ExecutionFailed{Code: "c", Message: "m"}},
	} {
		end := journal.EndingOf(c.then)
		require.Equal(t, c.state, end.State)
		require.NoError(t, journal.CheckEnding(end))
		require.Equal(t, c.event, journal.EndingPayload(end))
		require.NoError(t, journal.CheckPayload(end, c.event))
	}
	require.Equal(t, execution.ExecutionCanceled{}, journal.EndingPayload(journal.Ending{State: execution.Canceled}))
}

func TestCheckEndingWantsTheOutcomeAndFailureOfTheState(t *testing.T) {
	t.Parallel()
	outcome, failure := &execution.Outcome{}, &execution.Failure{}
	fits := map[journal.Ending]bool{
		{State: execution.Completed, Outcome: outcome}: true,
		{State: execution.Failed, Failure: failure}:    true,
		{State: execution.Canceled}:                    true,
	}
	for _, state := range []execution.State{execution.Completed, execution.Failed, execution.Canceled} {
		for _, o := range []*execution.Outcome{nil, outcome} {
			for _, f := range []*execution.Failure{nil, failure} {
				end := journal.Ending{State: state, Outcome: o, Failure: f}
				if fits[end] {
					require.NoError(t, journal.CheckEnding(end))
				} else {
					require.ErrorIs(t, journal.CheckEnding(end), journal.ErrConflict)
				}
			}
		}
	}
	for _, state := range execution.States()[:5] {
		require.ErrorIs(t, journal.CheckEnding(journal.Ending{State: state}), journal.ErrState)
	}
}

func TestCheckPayloadMatchesPayloadAndState(t *testing.T) {
	t.Parallel()
	running := journal.Ending{State: execution.Running}
	require.NoError(t, journal.CheckPayload(running, execution.ExecutionStarted{}))
	require.NoError(t, journal.CheckPayload(running, &execution.ExecutionStarted{}), "a pointer says the same")
	require.ErrorIs(t, journal.CheckPayload(running, execution.ExecutionQueued{}), journal.ErrConflict)
	require.ErrorIs(t, journal.CheckPayload(running, nil), journal.ErrConflict)
	for _, state := range []execution.State{execution.Queued, execution.WaitingForInput, execution.Suspended, execution.Finalizing} {
		require.ErrorIs(t, journal.CheckPayload(journal.Ending{State: state}, execution.ExecutionStarted{}), journal.ErrState)
	}
}

func TestOnlyEventsThatBelongToNoStateAreAppendable(t *testing.T) {
	t.Parallel()
	appendable := []execution.Payload{
		execution.ModelStarted{},
		execution.ModelCompleted{},
		&execution.ToolStarted{},
		execution.ToolCompleted{},
		execution.Warning{},
	}
	require.NoError(t, journal.CheckEvents(appendable))
	for _, payload := range []execution.Payload{
		nil,
		execution.ExecutionQueued{},
		execution.ExecutionStarted{},
		execution.InteractionRequired{},
		execution.InteractionReceived{},
		execution.ExecutionSuspended{},
		execution.ExecutionResumed{},
		execution.CancelRequested{},
		execution.RetryScheduled{},
		execution.ExecutionCompleted{},
		execution.ExecutionFailed{},
		execution.ExecutionCanceled{},
	} {
		require.ErrorIs(t, journal.CheckEvents(append(appendable, payload)), journal.ErrConflict)
	}
}

func TestTheExpiredEntryIsJSONWhateverTheRequestID(t *testing.T) {
	t.Parallel()
	require.JSONEq(t, `{"type":"expired","requestId":"r\"1"}`, string(journal.ExpiredPayload(`r"1`)))
}

func TestQuarantineNamesNodeAndWorkers(t *testing.T) {
	t.Parallel()
	s := journal.QuarantineSuspension("tool_call", []journal.WorkerID{"w1", "w2"})
	require.Equal(t, execution.ReasonQuarantined, s.Reason)
	require.Equal(t, "after tool_call, claims ran out of workers w1, w2", s.Detail)
}

func TestInteractionWaitTellsCredentialsFromInput(t *testing.T) {
	t.Parallel()
	require.Equal(t, execution.Wait{Kind: execution.WaitInput, UntilMs: 7},
		journal.InteractionWait(execution.Interaction{Kind: execution.Approval, ExpiresAtMs: 7}))
	require.Equal(t, execution.WaitAuth, journal.InteractionWait(execution.Interaction{Kind: execution.Authentication}).Kind)
}

func TestConfigHasDefaultsAndNamesTheFieldItRefuses(t *testing.T) {
	t.Parallel()
	cfg, err := journal.Config{}.WithDefaults()
	require.NoError(t, err)
	require.Equal(t, 5*time.Second, cfg.HandoffGrace)
	require.Equal(t, 100_000, cfg.MaxEvents)
	_, err = journal.Config{Retention: time.Microsecond}.WithDefaults()
	require.ErrorContains(t, err, "Retention")
	_, err = journal.Config{MaxWaiting: -1}.WithDefaults()
	require.ErrorContains(t, err, "MaxWaiting")
}

func TestCheckClaimBoundsTheNonceAndTheTime(t *testing.T) {
	t.Parallel()
	ok := journal.ClaimRequest{TTL: time.Millisecond, Nonce: "aZ09"}
	require.NoError(t, journal.CheckClaim(ok))
	for i, change := range []func(*journal.ClaimRequest){
		func(q *journal.ClaimRequest) { q.TTL = time.Millisecond - 1 },
		func(q *journal.ClaimRequest) { q.Nonce = "" },
		func(q *journal.ClaimRequest) { q.Nonce = "a b" },
		func(q *journal.ClaimRequest) { q.Nonce = fmt.Sprintf("%033d", 0) },
	} {
		q := ok
		change(&q)
		require.ErrorIs(t, journal.CheckClaim(q), journal.ErrConflict, "case %d", i)
	}
}
