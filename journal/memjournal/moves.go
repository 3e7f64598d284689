package memjournal

import (
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// wake makes a row runnable: its task must be standing at atMs.
func (s *Store) wake(r *row, nowMs, atMs int64) []execution.Task {
	r.Wait, r.await = nil, nil
	r.place(indexHandoff, atMs)
	r.Wake++
	r.runnableMs = nowMs
	return []execution.Task{r.task(nowMs)}
}

// handOff makes a row runnable, with the usual grace for its task.
func (s *Store) handOff(r *row, nowMs int64) []execution.Task {
	return s.wake(r, nowMs, nowMs+s.cfg.HandoffGrace.Milliseconds())
}

// rest places the entry of a row that needs no worker at the next moment somebody must look at it.
func (s *Store) rest(r *row, nowMs int64) { r.place(indexDue, s.nextLook(r, nowMs)) }

func (s *Store) nextLook(r *row, nowMs int64) int64 {
	if r.CancelRequested && r.Claim == nil && r.State != execution.Finalizing {
		return nowMs // its parent has ended: whatever it waits for, the reaper ends it
	}
	var bounds []int64
	switch r.State {
	case execution.Queued:
		if r.Active {
			bounds = append(bounds, r.NotBeforeMs)
		}
		if r.Delegation.Intended() {
			bounds = []int64{s.delegatedBy(r)}
		}
	case execution.Running:
		bounds = append(bounds, r.NotBeforeMs, r.DeadlineAtMs)
	case execution.WaitingForInput:
		bounds = append(bounds, r.PendingInteraction.ExpiresAtMs, r.DeadlineAtMs)
	case execution.Suspended:
		bounds = append(bounds, s.suspendedUntil(r), r.DeadlineAtMs)
	case execution.Finalizing:
		bounds = append(bounds, r.restMs+s.cfg.CleanupTimeout.Milliseconds())
	case execution.Completed, execution.Failed, execution.Canceled:
	}
	bounds = slices.DeleteFunc(bounds, func(ms int64) bool { return ms == 0 })
	if len(bounds) == 0 {
		return nowMs + s.cfg.LookAgain.Milliseconds()
	}
	return slices.Min(bounds)
}

// delegatedBy is when a row fails whose delegation has not come.
func (s *Store) delegatedBy(r *row) int64 {
	return r.CreatedAtMs + s.cfg.DelegateTimeout.Milliseconds()
}

// ask opens an interaction and parks the row on it.
func (s *Store) ask(r *row, nowMs int64, interaction execution.Interaction) {
	r.State = execution.WaitingForInput
	r.PendingInteraction = cloneInteraction(&interaction)
	wait := journal.InteractionWait(interaction)
	r.Wait = &wait
	r.write(nowMs, journal.InteractionEvent(interaction))
	s.rest(r, nowMs)
}

// park lets a running row wait for something that is not a person.
func (s *Store) park(r *row, nowMs int64, then journal.Then) {
	r.Wait, r.await = &execution.Wait{Kind: then.WaitKind}, slices.Clone(then.Await)
	if then.Wait > 0 {
		r.NotBeforeMs = nowMs + then.Wait.Milliseconds()
		r.Wait.UntilMs = r.NotBeforeMs
	}
	s.rest(r, nowMs)
}

// suspend stops the row until somebody resumes it. What it waited for stays with it.
func (s *Store) suspend(r *row, nowMs int64, suspension execution.Suspension) {
	r.State = execution.Suspended
	r.Suspension = &suspension
	r.PauseRequested = false
	r.restMs = nowMs
	r.write(nowMs, journal.SuspendedEvent(suspension))
	s.rest(r, nowMs)
}

// finalize keeps how the row ends until its clean-up is done.
func (s *Store) finalize(r *row, nowMs int64, end journal.Ending) {
	r.State = execution.Finalizing
	r.Outcome, r.Failure = clone(end.Outcome), clone(end.Failure)
	r.Wait, r.await = nil, nil
	r.restMs = nowMs
	r.noteCleanup(nowMs)
	s.rest(r, nowMs)
}

// end writes the terminal state and its event, the last one, gives the conversation to the next execution, brings the parent
// the result, and asks its own children to end.
func (s *Store) end(r *row, nowMs int64, end journal.Ending) []execution.Task {
	r.State = end.State
	r.Outcome, r.Failure = clone(end.Outcome), clone(end.Failure)
	r.Wait, r.await, r.Suspension, r.PendingInteraction = nil, nil, nil, nil
	r.NotBeforeMs, r.PauseRequested = 0, false
	r.EndedAtMs = nowMs
	s.seal(r)
	r.write(nowMs, journal.EndingPayload(end))
	r.place(indexPurge, nowMs+s.kept(r))
	r.noteCleanup(nowMs)
	tasks := append(s.leave(r, nowMs), s.deliver(r, nowMs)...)
	s.cancelChildren(r, nowMs)
	return tasks
}

func canceled() journal.Ending { return journal.Ending{State: execution.Canceled} }

func failed(failure execution.Failure) journal.Ending {
	return journal.Ending{State: execution.Failed, Failure: &failure}
}
