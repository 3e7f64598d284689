package harness

import (
	"fmt"
	"testing"

	"github.com/pawl-run/pawl/execution"
)

// Types lists the types of the events.
func Types(events []execution.Event) []execution.EventType {
	types := make([]execution.EventType, 0, len(events))
	for _, event := range events {
		types = append(types, event.Payload.EventType())
	}
	return types
}

// CountWarnings counts the warnings with the code.
func CountWarnings(events []execution.Event, code string) int {
	n := 0
	for _, event := range events {
		if warning, ok := event.Payload.(*execution.Warning); ok && warning.Code == code {
			n++
		}
	}
	return n
}

// CheckLog fails the test unless the log of an ended execution is whole: gapless from 1, begun by execution_queued, ended
// by the one terminal event, and no fact of a model request, a tool call or an interaction missing or doubled.
func CheckLog(tb testing.TB, id execution.ID, events []execution.Event) {
	tb.Helper()
	for _, problem := range logProblems(events) {
		tb.Errorf("log of %s: %s; it is %v", id, problem, Types(events))
	}
}

func logProblems(events []execution.Event) []string {
	if len(events) == 0 {
		return []string{"it is empty"}
	}
	var problems []string
	seen := map[string]int{}
	for i, event := range events {
		if event.Sequence != execution.Sequence(i+1) {
			problems = append(problems, fmt.Sprintf("event %d has sequence %d", i+1, event.Sequence))
		}
		if i > 0 && event.OccurredAtMs < events[i-1].OccurredAtMs {
			problems = append(problems, fmt.Sprintf("event %d is earlier than the one before", i+1))
		}
		if fact := factOf(event.Payload); fact != "" {
			if seen[fact]++; seen[fact] == 2 {
				problems = append(problems, fact+" is doubled")
			}
		}
	}
	if events[0].Payload.EventType() != execution.TypeExecutionQueued {
		problems = append(problems, "it does not begin with execution_queued")
	}
	if last := events[len(events)-1].Payload.EventType(); !terminalEvent(last) {
		problems = append(problems, fmt.Sprintf("its last event is %s", last))
	}
	return append(problems, missing(seen)...)
}

// factOf names what may be said once in a log; "" for events that may repeat.
func factOf(payload execution.Payload) string {
	kind := payload.EventType()
	switch p := payload.(type) {
	case *execution.ModelStarted:
		return fmt.Sprintf("%s turn %d", kind, p.Turn)
	case *execution.ModelCompleted:
		return fmt.Sprintf("%s turn %d", kind, p.Turn)
	case *execution.ToolStarted:
		return fmt.Sprintf("%s %s", kind, p.CallID)
	case *execution.ToolCompleted:
		return fmt.Sprintf("%s %s", kind, p.CallID)
	case *execution.InteractionRequired:
		return fmt.Sprintf("%s %s", kind, p.RequestID)
	case *execution.InteractionReceived:
		return fmt.Sprintf("%s %s", kind, p.RequestID)
	case *execution.ExecutionQueued, *execution.ExecutionStarted, *execution.CancelRequested:
		return string(kind)
	case *execution.ExecutionCompleted, *execution.ExecutionFailed, *execution.ExecutionCanceled:
		return "terminal event"
	default:
		return ""
	}
}

// missing finds completed facts whose start was never said.
func missing(seen map[string]int) []string {
	pairs := []struct{ end, start execution.EventType }{
		{execution.TypeModelCompleted, execution.TypeModelStarted},
		{execution.TypeToolCompleted, execution.TypeToolStarted},
		{execution.TypeInteractionReceived, execution.TypeInteractionRequired},
	}
	var problems []string
	for fact := range seen {
		for _, pair := range pairs {
			name, ok := cutKind(fact, pair.end)
			if ok && seen[string(pair.start)+name] == 0 {
				problems = append(problems, fmt.Sprintf("%s%s is missing", pair.start, name))
			}
		}
	}
	return problems
}

func cutKind(fact string, kind execution.EventType) (string, bool) {
	if len(fact) > len(kind) && fact[:len(kind)] == string(kind) {
		return fact[len(kind):], true
	}
	return "", false
}

func terminalEvent(t execution.EventType) bool {
	return t == execution.TypeExecutionCompleted || t == execution.TypeExecutionFailed ||
		t == execution.TypeExecutionCanceled
}

// CheckOnce fails the test if a call of the path reached the tool server more than once.
func CheckOnce(tb testing.TB, tools *ToolServer, path string) {
	tb.Helper()
	for _, call := range tools.Calls(path) {
		if call.Attempt > 1 {
			tb.Errorf("the unsafe call %s of %s was sent %d times", call.CallID, call.Execution, call.Attempt)
		}
	}
}

// CheckEffectIDs fails the test unless every call carried its own effect id, however often it was sent.
func CheckEffectIDs(tb testing.TB, tools *ToolServer) {
	tb.Helper()
	for _, call := range tools.Calls("") {
		if want := execution.EffectID(call.Execution, call.CallID); call.Key != want {
			tb.Errorf("call %s of %s carried the key %q, want %q", call.CallID, call.Execution, call.Key, want)
		}
	}
}
