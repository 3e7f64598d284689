package journal

import "github.com/pawl-run/pawl/execution"

// Move names an operation as the state table knows it. A call whose effect depends on its arguments or on the claim has
// one move for each effect.
type Move string

// The moves. Which call makes which move stands in the table.
const (
	MoveClaim               Move = "claim"
	MoveClaimCanceled       Move = "claim_canceled"    // a recorded cancel ends the row in the claim
	MoveClaimPaused         Move = "claim_paused"      // a recorded pause suspends it in the claim
	MoveClaimQuarantined    Move = "claim_quarantined" // reclaimed too often
	MoveRenew               Move = "renew"
	MoveRecord              Move = "record"
	MoveSpawn               Move = "spawn"
	MoveCommitContinue      Move = "commit_continue"
	MoveCommitPark          Move = "commit_park"
	MoveCommitInteraction   Move = "commit_interaction"
	MoveCommitSuspend       Move = "commit_suspend"
	MoveCommitComplete      Move = "commit_complete"
	MoveCommitFail          Move = "commit_fail"
	MoveCommitFinalize      Move = "commit_finalize" // ended, with something to clean up
	MoveCommitCanceled      Move = "commit_canceled" // a recorded cancel wins
	MoveRelease             Move = "release"
	MoveReleaseSuspend      Move = "release_suspend"
	MoveInput               Move = "input"
	MoveCancel              Move = "cancel"         // no live claim
	MoveCancelRequest       Move = "cancel_request" // a live claim
	MovePause               Move = "pause"
	MovePauseRequest        Move = "pause_request"
	MoveResume              Move = "resume" // to queued, running or waiting_for_input: where it was
	MoveTakeBack            Move = "take_back"
	MoveTakeBackCanceled    Move = "take_back_canceled" // a recorded cancel ends the row with it
	MoveTakeBackPaused      Move = "take_back_paused"   // a recorded pause suspends it
	MoveDelete              Move = "delete"
	MoveRequeue             Move = "requeue"
	MoveExpireReject        Move = "expire_reject"
	MoveExpireCanceled      Move = "expire_canceled" // its parent ended, and nobody held it
	MoveExpireFail          Move = "expire_fail"
	MoveExpireSuspend       Move = "expire_suspend"
	MoveExpireFinalizing    Move = "expire_finalizing"
	MovePurge               Move = "purge"
	MoveFinalize            Move = "finalize" // transition: the one invisible move
	MoveStart               Move = "start"    // transition_with_event
	MoveFinish              Move = "finish"   // finish, or transition_with_event to a terminal state
	MoveAppendEvent         Move = "append_event"
	MoveBeginInteraction    Move = "begin_interaction"
	MoveCompleteInteraction Move = "complete_interaction"
	MoveAttachDelegation    Move = "attach_delegation"
	MoveDelegate            Move = "delegate"
	MoveRefuseDelegation    Move = "refuse_delegation"
	MoveExpireUndelegated   Move = "expire_undelegated"
	MoveCompleteDelegation  Move = "complete_delegation_cleanup"
	MoveCompleteCleanup     Move = "complete_cleanup"
)

// Gone is the state after a purge.
const Gone execution.State = ""

// Rule is a line of the state table: in a state of From, Move leads to one of To.
type Rule struct {
	Move Move
	From []execution.State
	To   []execution.State
}

// StateTable is the whole state machine as data. Implementations take their guards from it; a test drives every pair of
// state and move through Redis.
func StateTable() []Rule {
	const (
		q, r, w, s = execution.Queued, execution.Running, execution.WaitingForInput, execution.Suspended
		f, c, x, k = execution.Finalizing, execution.Completed, execution.Failed, execution.Canceled
	)
	type S = []execution.State
	return []Rule{
		{MoveClaim, S{q, r}, S{r}},
		{MoveClaimCanceled, S{q, r}, S{k}},
		{MoveClaimPaused, S{q, r}, S{s}},
		{MoveClaimQuarantined, S{q, r}, S{s}},
		{MoveRenew, S{r, f}, S{r, f}},
		{MoveRecord, S{r}, S{r}},
		{MoveSpawn, S{r}, S{r}},
		{MoveCommitContinue, S{r}, S{r}},
		{MoveCommitPark, S{r}, S{r}},
		{MoveCommitInteraction, S{r}, S{w}},
		{MoveCommitSuspend, S{r}, S{s}},
		{MoveCommitComplete, S{r}, S{c}},
		{MoveCommitFail, S{r}, S{x}},
		{MoveCommitFinalize, S{r}, S{f}},
		{MoveCommitCanceled, S{r}, S{k}},
		{MoveRelease, S{r}, S{r}},
		{MoveReleaseSuspend, S{r}, S{s}},
		{MoveInput, S{w}, S{r}},
		{MoveCancel, S{q, r, w, s}, S{k}},
		{MoveCancelRequest, S{r}, S{r}},
		{MovePause, S{q, r, w}, S{s}},
		{MovePauseRequest, S{r}, S{r}},
		{MoveResume, S{s}, S{q, r, w}},
		{MoveTakeBack, S{r}, S{r}},
		{MoveTakeBackCanceled, S{r}, S{k}},
		{MoveTakeBackPaused, S{r}, S{s}},
		{MoveDelete, S{c, x, k}, S{Gone}},
		{MoveRequeue, S{q, r}, S{q, r}},
		{MoveExpireReject, S{w}, S{r}},
		{MoveExpireCanceled, S{q, r, w, s}, S{k}},
		{MoveExpireFail, S{r, w, s}, S{x}},
		{MoveExpireSuspend, S{w}, S{s}},
		{MoveExpireFinalizing, S{f}, S{c, x, k}},
		{MovePurge, S{c, x, k}, S{Gone}},
		{MoveFinalize, S{r}, S{f}},
		{MoveStart, S{q, r}, S{r}},
		{MoveFinish, S{r, f}, S{c, x, k}},
		{MoveAppendEvent, S{r, f}, S{r, f}},
		{MoveBeginInteraction, S{r}, S{w}},
		{MoveCompleteInteraction, S{r}, S{r}},
		{MoveAttachDelegation, S{r, f}, S{r, f}},
		{MoveDelegate, S{q, s}, S{q, s}},
		{MoveRefuseDelegation, S{q, s}, S{x}},
		{MoveExpireUndelegated, S{q}, S{x}},
		{MoveCompleteDelegation, S{f, c, x, k}, S{f, c, x, k}},
		{MoveCompleteCleanup, S{f, c, x, k}, S{f, c, x, k}},
	}
}

// Allowed lists the states in which the move is allowed.
func Allowed(move Move) []execution.State {
	for _, rule := range StateTable() {
		if rule.Move == move {
			return rule.From
		}
	}
	return nil
}
