package journal

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Appendable reports whether a holder may write the payload by itself. All other events belong to a change of state and
// are derived from it.
func Appendable(p execution.Payload) bool {
	if p == nil {
		return false
	}
	switch p.EventType() {
	case execution.TypeModelStarted, execution.TypeModelCompleted, execution.TypeToolStarted,
		execution.TypeToolCompleted, execution.TypeWarning:
		return true
	default:
		return false
	}
}

// CheckEvents refuses payloads that a holder may not write by itself. It wraps ErrConflict.
func CheckEvents(payloads []execution.Payload) error {
	for _, p := range payloads {
		if p == nil {
			return fmt.Errorf("%w: an event without payload", ErrConflict)
		}
		if !Appendable(p) {
			return fmt.Errorf("%w: event %s belongs to a change of state", ErrConflict, p.EventType())
		}
	}
	return nil
}

// CheckEnding refuses an end whose state is not terminal (ErrState) or whose outcome and failure do not fit it
// (ErrConflict).
func CheckEnding(end Ending) error {
	if !end.State.Terminal() {
		return fmt.Errorf("%w: %q is no end", ErrState, end.State)
	}
	outcome, failure := end.State == execution.Completed, end.State == execution.Failed
	if (end.Outcome != nil) != outcome || (end.Failure != nil) != failure {
		return fmt.Errorf("%w: outcome and failure do not fit %s", ErrConflict, end.State)
	}
	return nil
}

// CheckPayload refuses a payload that does not belong to the move to end.State: ErrState when no event moves there,
// ErrConflict when it is another state's event or says something else than the ending.
func CheckPayload(end Ending, payload execution.Payload) error {
	if end.State != execution.Running {
		if err := CheckEnding(end); err != nil {
			return err
		}
		return samePayload(EndingPayload(end), payload)
	}
	if end.Outcome != nil || end.Failure != nil {
		return fmt.Errorf("%w: outcome and failure do not fit %s", ErrConflict, end.State)
	}
	return samePayload(execution.ExecutionStarted{}, payload)
}

func samePayload(want, got execution.Payload) error {
	if got == nil {
		return fmt.Errorf("%w: an event without payload", ErrConflict)
	}
	a, err := execution.EncodePayload(want)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	b, err := execution.EncodePayload(got)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrConflict, err)
	}
	if !slices.Equal(a, b) {
		return fmt.Errorf("%w: the event is not the one of the move", ErrConflict)
	}
	return nil
}

// CheckExpected refuses a comparison of states that cannot hold: an empty list is ErrConflict.
func CheckExpected(expected []execution.State) error {
	if len(expected) == 0 {
		return fmt.Errorf("%w: no expected state", ErrConflict)
	}
	return nil
}

// CheckCommit refuses a commit that contradicts itself. It wraps ErrConflict.
func CheckCommit(c Commit) error {
	if err := CheckEvents(c.Events); err != nil {
		return err
	}
	if c.Keep < 0 {
		return fmt.Errorf("%w: a claim kept for %v", ErrConflict, c.Keep)
	}
	if c.ClaimedAtMs < 0 {
		return fmt.Errorf("%w: a claim given at %d", ErrConflict, c.ClaimedAtMs)
	}
	if err := checkEarlier(c.Earlier); err != nil {
		return err
	}
	if err := checkCleanup(c.Cleanup); err != nil {
		return err
	}
	if err := checkAwait(c.Then); err != nil {
		return err
	}
	t := c.Then
	park := t.Interaction != nil || t.WaitKind != "" || len(t.Await) > 0 || t.Wait != 0
	end := t.Outcome != nil || t.Failure != nil
	suspend := t.Suspension != (execution.Suspension{})
	bad := false
	switch t.Kind {
	case ThenContinue:
		bad = park || end || suspend
	case ThenPark:
		bad = end || suspend || t.Wait < 0 || t.Interaction == nil && t.WaitKind == "" ||
			t.Interaction != nil && t.Interaction.RequestID == ""
	case ThenSuspend:
		bad = park || end || t.Suspension.Reason == ""
	case ThenEnd:
		bad = park || suspend || (t.Outcome != nil) == (t.Failure != nil)
	default:
		return fmt.Errorf("%w: unknown continuation %q", ErrConflict, t.Kind)
	}
	if bad {
		return fmt.Errorf("%w: what follows the commit contradicts %q", ErrConflict, t.Kind)
	}
	return nil
}

func checkEarlier(earlier []Boundary) error {
	if len(earlier) > MaxEarlier {
		return fmt.Errorf("%w: %d boundaries in one commit, at most %d", ErrConflict, len(earlier)+1, MaxEarlier+1)
	}
	for i := range earlier {
		if err := CheckEvents(earlier[i].Events); err != nil {
			return err
		}
	}
	return nil
}

// CheckRelease refuses a release that contradicts itself. It wraps ErrConflict.
func CheckRelease(r Release) error {
	if r.Retry != nil && r.Suspension != nil {
		return fmt.Errorf("%w: a release retries or suspends, not both", ErrConflict)
	}
	if r.Retry != nil && r.Retry.After < 0 {
		return fmt.Errorf("%w: negative delay %v", ErrConflict, r.Retry.After)
	}
	if r.Suspension != nil && r.Suspension.Reason == "" {
		return fmt.Errorf("%w: a suspension without reason", ErrConflict)
	}
	return nil
}

// CheckRecord refuses a record that contradicts itself. It wraps ErrConflict.
func CheckRecord(r Record) error {
	switch {
	case len(r.Calls) == 0:
		return fmt.Errorf("%w: a record without calls", ErrConflict)
	case r.State != Started && r.State != Done:
		return fmt.Errorf("%w: a record of state %q", ErrConflict, r.State)
	case r.State == Done && len(r.Receipts) != len(r.Calls):
		return fmt.Errorf("%w: %d receipts for %d calls", ErrConflict, len(r.Receipts), len(r.Calls))
	case r.State == Started && len(r.Receipts) > 0:
		return fmt.Errorf("%w: receipts for calls that are about to start", ErrConflict)
	}
	if err := checkBlobs(r); err != nil {
		return err
	}
	return CheckEvents(r.Events)
}

// CheckClaim refuses a request that names no time or no usable nonce. It wraps ErrConflict.
func CheckClaim(r ClaimRequest) error {
	if r.TTL < time.Millisecond {
		return fmt.Errorf("%w: a claim of %v", ErrConflict, r.TTL)
	}
	if !claimNonce.MatchString(r.Nonce) {
		return fmt.Errorf("%w: a nonce is 1 to 32 characters of A-Z a-z 0-9", ErrConflict)
	}
	return nil
}

var claimNonce = regexp.MustCompile(`^[A-Za-z0-9]{1,32}$`)

// CheckTTL refuses a claim without duration. It wraps ErrConflict.
func CheckTTL(ttl time.Duration) error {
	if ttl < time.Millisecond {
		return fmt.Errorf("%w: a claim of %v", ErrConflict, ttl)
	}
	return nil
}

// CheckInteraction refuses an interaction without request id. It wraps ErrConflict.
func CheckInteraction(i execution.Interaction) error {
	if i.RequestID == "" {
		return fmt.Errorf("%w: an interaction without request id", ErrConflict)
	}
	return nil
}

// CheckDelegation refuses a delegation without lease. It wraps ErrConflict.
func CheckDelegation(d Delegation) error {
	if d.LeaseRef == "" {
		return fmt.Errorf("%w: a delegation without lease", ErrConflict)
	}
	return nil
}
