package executor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// verdict looks through everything that the execution has left.
func (c *chaos) verdict() string {
	row := c.w.row()
	for _, look := range []func(*journal.Execution) string{
		c.lookAtRow, c.lookAtEvents, c.lookAtLedger, c.lookAtCheckpoints, c.lookAtHistory, c.lookAtUsage, c.lookAfterTheEnd,
	} {
		if problem := look(&row); problem != "" {
			return fmt.Sprintf("%s\nended %s %+v, usage %+v", problem, row.State, row.Failure, row.Usage)
		}
	}
	return c.found()
}

func (c *chaos) lookAtRow(row *journal.Execution) string {
	switch {
	case row.Claim != nil, row.Wait != nil, row.PendingInteraction != nil, row.Suspension != nil:
		return fmt.Sprintf("an end with something open: %+v", row)
	case (row.Outcome != nil) != (row.State == execution.Completed), (row.Failure != nil) != (row.State == execution.Failed):
		return "outcome and failure are not those of the state"
	case c.canceled > 0 && row.State != execution.Canceled:
		return "it was canceled, and did not end so"
	case c.canceled == 0 && row.State == execution.Canceled:
		return "nobody canceled it"
	}
	return ""
}

// story is what a log says, as far as it was read.
type story struct {
	queued, started, suspended, ended, cancel bool
	turns                                     int
	open                                      string // invocation
	answered                                  map[string]bool
	calls                                     map[execution.CallID]string // planned or done
	failed                                    map[execution.CallID]bool
	requests                                  map[execution.RequestID]bool
}

func (c *chaos) read() (*story, string) {
	s := &story{
		answered: map[string]bool{}, calls: map[execution.CallID]string{}, failed: map[execution.CallID]bool{},
		requests: map[execution.RequestID]bool{},
	}
	for i, event := range c.w.events() {
		if event.Sequence != execution.Sequence(i+1) {
			return s, "a gap in the log"
		}
		if s.ended {
			return s, "an event behind the terminal one"
		}
		if !s.takes(event.Payload) {
			return s, fmt.Sprintf("event %d %s %+v must not be there: %v", i+1, event.Payload.EventType(), event.Payload, c.w.types())
		}
	}
	return s, ""
}

// takes reports whether the event may follow, and takes it in.
func (s *story) takes(payload execution.Payload) bool {
	switch e := payload.(type) {
	case *execution.ExecutionQueued:
		ok := !s.queued
		s.queued = true
		return ok
	case *execution.ExecutionStarted:
		ok := s.queued && !s.started
		s.started = true
		return ok
	case *execution.ModelStarted:
		ok := s.started && !s.answered[e.InvocationID] && e.Turn == s.turns && s.open != e.InvocationID
		s.open = e.InvocationID
		return ok
	case *execution.ModelCompleted:
		ok := s.open == e.InvocationID && e.Turn == s.turns && !s.answered[e.InvocationID]
		s.answered[e.InvocationID] = true
		s.turns++
		return ok
	case *execution.ToolStarted:
		ok := s.calls[e.CallID] == "" && !s.suspended
		s.calls[e.CallID] = "planned"
		return ok
	case *execution.ToolCompleted:
		ok := s.calls[e.CallID] == "planned" && !s.suspended
		s.calls[e.CallID], s.failed[e.CallID] = "done", e.Failed
		return ok
	case *execution.ExecutionSuspended:
		ok := !s.suspended
		s.suspended = true
		return ok
	case *execution.ExecutionResumed:
		ok := s.suspended
		s.suspended = false
		return ok
	case *execution.InteractionRequired:
		ok := !s.requests[e.RequestID]
		s.requests[e.RequestID] = true
		return ok
	case *execution.CancelRequested:
		ok := !s.cancel
		s.cancel = true
		return ok
	case *execution.RetryScheduled:
		return e.Attempt >= 1 && e.Attempt < maxAttempts && !s.suspended
	case *execution.ExecutionCompleted, *execution.ExecutionFailed, *execution.ExecutionCanceled:
		s.ended = true
	}
	return true
}

func (c *chaos) lookAtEvents(row *journal.Execution) string {
	s, problem := c.read()
	types := c.w.types()
	switch {
	case problem != "":
		return problem
	case !s.ended:
		return "no terminal event"
	case types[len(types)-1] != execution.EventType("execution_"+string(row.State)):
		return fmt.Sprintf("the last event is %s", types[len(types)-1])
	}
	return ""
}

// lookAtLedger compares the ledger with the log.
func (c *chaos) lookAtLedger(row *journal.Execution) string {
	s, _ := c.read()
	var ids []execution.CallID
	for id := range s.calls {
		ids = append(ids, id)
	}
	entries, err := c.w.store.Ledger(c.w.t.Context(), c.w.id, ids)
	if err != nil {
		return err.Error()
	}
	worked := int64(0)
	for _, entry := range entries {
		done := s.calls[entry.CallID] == "done"
		if done != (entry.State == journal.Done) {
			return fmt.Sprintf("%s is %s in the ledger and %s in the log", entry.CallID, entry.State, s.calls[entry.CallID])
		}
		if !done {
			continue
		}
		result, err := decodeReceipt(entry.Receipt)
		if err != nil || result.IsError != s.failed[entry.CallID] {
			return fmt.Sprintf("%s: the receipt is not what the log says: %v", entry.CallID, err)
		}
		if !result.IsError {
			worked++
		}
	}
	if row.Usage.ToolCalls != worked {
		return fmt.Sprintf("%d calls counted, want %d", row.Usage.ToolCalls, worked)
	}
	return ""
}

// follows are the nodes that may come behind each.
var chaosFollows = map[Node][]Node{
	RunStart:            {PrepareModelRequest, RunFailed},
	PrepareModelRequest: {BeforeModelRequest, RunFailed},
	BeforeModelRequest:  {ModelResponse, BeforeModelRequest, PrepareModelRequest, RunFailed},
	ModelResponse:       {ToolCall, ValidateOutput, RunComplete, PrepareModelRequest, RunFailed},
	ToolCall:            {ToolReturn, RunFailed},
	ToolReturn:          {ToolCall, ToolReturn, PrepareModelRequest, RunFailed},
	ValidateOutput:      {RunComplete, PrepareModelRequest, RunFailed},
}

func (c *chaos) lookAtCheckpoints(row *journal.Execution) string {
	checkpoints := c.w.checkpoints()
	if len(checkpoints) != int(row.Step)+1 {
		return "a step without its checkpoint, or one too many"
	}
	stored, err := c.w.store.Messages(c.w.t.Context(), c.w.id, 0, 10_000)
	if err != nil {
		return err.Error()
	}
	for i, checkpoint := range checkpoints {
		if i > 0 {
			before := &checkpoints[i-1]
			if !slices.Contains(chaosFollows[before.Node], checkpoint.Node) || checkpoint.Turn < before.Turn {
				return fmt.Sprintf("%s at turn %d behind %s at turn %d", checkpoint.Node, checkpoint.Turn, before.Node, before.Turn)
			}
			if checkpoint.Resume.Cursor.StreamCursor == nil || *checkpoint.Resume.Cursor.StreamCursor > row.LastSequence {
				return "a stream cursor that points nowhere"
			}
		}
		if want := messagesUpTo(stored, checkpoint.Step); checkpoint.Resume.Cursor.MessageCursor != want {
			return fmt.Sprintf("checkpoint %d at %s counts %d messages, there were %d", i, checkpoint.Node,
				checkpoint.Resume.Cursor.MessageCursor, want)
		}
	}
	return ""
}

// messagesUpTo counts the messages that boundaries up to the step have added.
func messagesUpTo(stored [][]byte, step execution.Step) (n int) {
	for _, data := range stored {
		var message struct {
			Step   *execution.Step `json:"step"`
			Sealed json.RawMessage `json:"sealed"`
		}
		if json.Unmarshal(data, &message) == nil && message.Sealed == nil && (message.Step == nil || *message.Step <= step) {
			n++
		}
	}
	return n
}

// lookAtHistory: every call is answered, but for those of an answer behind which a command ended the execution before they
// were planned. No model is told of these as they are.
func (c *chaos) lookAtHistory(row *journal.Execution) string {
	history := c.w.history()
	last := len(history) - 1
	if row.Node == string(ModelResponse) && history[last].Role == execution.RoleAssistant {
		history[last].ToolCalls = nil
	}
	if !slices.EqualFunc(repair(history), history, sameMessage) {
		data, err := json.Marshal(history[max(0, len(history)-6):])
		return fmt.Sprintf("the history is not whole at %s: … %s %v", row.Node, data, err)
	}
	return ""
}

// lookAtUsage compares what was counted with what models were asked. Nobody charges what a holder asked that was superseded, a
// resume forgets the claims that ran out, and a command that ends an execution does not look at them.
func (c *chaos) lookAtUsage(row *journal.Execution) string {
	u := row.Usage
	unknown := int64(c.takenBack)
	ended := row.State == execution.Canceled || row.State == execution.Failed && row.Failure.Code == execution.CodeDeadlineExceeded
	if c.resumed > 0 || ended || c.takenBack > 0 {
		unknown += int64(c.deaths) + 4*int64(c.resumed) + 4
	}
	switch {
	case u.OwnRequests() > int64(c.requests):
		return fmt.Sprintf("%d requests counted, %d made", u.OwnRequests(), c.requests)
	case int64(c.requests) > u.Requests+unknown:
		return fmt.Sprintf("%d requests made, %d counted", c.requests, u.Requests)
	case u.InputTokens < 0, u.OutputTokens < 0, u.TotalTokens < 0:
		return "counts below zero"
	}
	checkpoints := c.w.checkpoints()
	last := checkpoints[len(checkpoints)-1]
	if last.Node.Terminal() && last.State.Usage != u {
		return fmt.Sprintf("the last checkpoint has usage %+v", last.State.Usage)
	}
	return ""
}

// lookAfterTheEnd runs what still waits: it changes nothing.
func (c *chaos) lookAfterTheEnd(row *journal.Execution) string {
	for range 200 {
		c.replaceTheDead()
		if task, ok := c.w.queue.pop(); ok {
			c.run(c.durable, task)
		}
	}
	c.command("pause")
	c.command("resume")
	if after := c.w.row(); after.Version != row.Version || after.LastSequence != row.LastSequence {
		return "it changed after its end"
	}
	c.stop()
	c.busy.Wait()
	return ""
}
