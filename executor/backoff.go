package executor

import (
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// A node that fails is tried maxAttempts times, with a back-off that doubles from backoffBase up to backoffCap.
const (
	maxAttempts = 5
	backoffBase = 500 * time.Millisecond
	backoffCap  = 60 * time.Second
)

// backoff is the time before attempt number failures+1: full jitter, and never before the server's wish. The jitter comes
// on top of the wish, so that callers who were all told the same moment do not meet again.
func backoff(failures int, wish time.Duration, jitter func(time.Duration) time.Duration) time.Duration {
	limit := backoffCap
	if shift := failures - 1; shift < 7 { // 500 ms << 7 is above the cap
		limit = min(limit, backoffBase<<max(shift, 0))
	}
	return max(wish, 0) + max(jitter(limit), time.Millisecond)
}

// retry hands the step back to be tried again later; after the last attempt it suspends the execution, and a resume goes
// on from the same checkpoint. Calls are those whose started mark is taken back.
func (m *machine) retry(err error, unsent ...execution.CallID) advance {
	return advance{state: m.state, back: retryOf(m.node, m.attempts, err, m.env.Jitter, unsent)}
}

func retryOf(node Node, attempts int, err error, jitter func(time.Duration) time.Duration, unsent []execution.CallID,
) *handBack {
	code, message, wish := execution.CodeInternal, err.Error(), time.Duration(0)
	var classified *local.Error
	var failed *FailedError
	switch {
	case errors.As(err, &classified):
		code, message, wish = classified.Code, classified.Message, classified.RetryAfter
	case errors.As(err, &failed):
		code, message = codeExecutorFailed, failed.Err.Error()
	}
	failures := attempts + 1
	if failures >= maxAttempts {
		return &handBack{unsent: unsent, suspension: &execution.Suspension{
			Reason: execution.ReasonRetriesExhausted, Detail: fmt.Sprintf("%s: %s: %s", node, code, message),
		}}
	}
	return &handBack{unsent: unsent, retry: &journal.Retry{
		Node: string(node), Code: code, Message: message, After: backoff(failures, wish, jitter),
	}}
}

// codeExecutorFailed is the code of a retry after a failure of the hook.
const codeExecutorFailed = "executor_failed"
