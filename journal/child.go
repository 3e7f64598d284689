package journal

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of children and of clean-up.
const (
	// MaxChildren is how many children one execution may spawn in its life.
	MaxChildren = 256
	// MaxCleanupBytes bounds what a row holds of its clean-up.
	MaxCleanupBytes = 64 << 10
)

type (
	// Parent names the tool call of another execution that a child answers.
	Parent = execution.Parent
	// Child is an execution that a tool call of another one started, and where it stands.
	Child = execution.Child
)

// Spawn starts a child: an execution of its own, in the partition of the parent that the hold names, in a new conversation of
// its own. Child.Parent names the parent and the call. Caller, priority, queue and retention that Child leaves empty are the
// parent's; it has no idempotency key (its id is derived, see execution.ChildID), is no fork and starts at once.
type Spawn struct {
	Hold
	Child NewExecution
}

// CheckSpawn refuses a child that contradicts itself or its parent. It wraps ErrConflict.
func CheckSpawn(s Spawn) error {
	n := s.Child
	if _, err := execution.ParseID(string(n.ID)); err != nil {
		return fmt.Errorf("%w: the child: %w", ErrConflict, err)
	}
	if _, err := execution.ParseID(string(s.Execution)); err != nil {
		return fmt.Errorf("%w: the parent: %w", ErrNotFound, err)
	}
	switch {
	case n.Parent == nil || n.Parent.Execution != s.Execution || n.Parent.Call == "":
		return fmt.Errorf("%w: the child of another parent, or of no call", ErrConflict)
	case strings.ContainsAny(string(n.Parent.Call), " \n\t"):
		return fmt.Errorf("%w: %q is no call", ErrConflict, n.Parent.Call)
	case n.ID == s.Execution:
		return fmt.Errorf("%w: an execution is not its own child", ErrConflict)
	case n.ID.Partition() != s.Execution.Partition() || !n.ConversationID.Minted() ||
		n.ConversationID.Partition(n.Caller.Tenant) != s.Execution.Partition():
		return fmt.Errorf("%w: a child and its conversation are in the partition of its parent", ErrConflict)
	case n.IdempotencyKey != "" || n.Fork != nil || n.Request.StartAtMs != 0 || n.Request.OnBusy != "":
		return fmt.Errorf("%w: a child has no key, is no fork, and starts at once", ErrConflict)
	}
	return nil
}

// CheckReserved refuses a submission that says it is a child: those are spawned. It wraps ErrConflict.
func CheckReserved(n NewExecution) error {
	if n.Parent != nil {
		return fmt.Errorf("%w: a child is spawned by its parent", ErrConflict)
	}
	return nil
}

// ChildResult is what a child's end brings its parent, as the inbox entry of execution.ChildRequest. Usage is all that the
// child has spent, its own children's included.
type ChildResult struct {
	Type        string             `json:"type"` // ChildResultType
	ExecutionID execution.ID       `json:"executionId"`
	State       execution.State    `json:"state"`
	Outcome     *execution.Outcome `json:"outcome,omitempty"`
	Failure     *execution.Failure `json:"failure,omitempty"`
	Usage       execution.Usage    `json:"usage"`
}

// ChildResultType is the type of a child's result among the inbox entries.
const ChildResultType = "child"

// ResultOf is the result of a child that has ended.
func ResultOf(e *Execution) ChildResult {
	return ChildResult{
		Type: ChildResultType, ExecutionID: e.ID, State: e.State, Outcome: e.Outcome, Failure: e.Failure, Usage: e.Usage,
	}
}

// DecodeChildResult reads the inbox entry of a child's result. One with a v above 1 is execution.ErrNewer.
func DecodeChildResult(payload []byte) (ChildResult, error) {
	var stored struct {
		ChildResult
		V int `json:"v"`
	}
	if err := json.Unmarshal(payload, &stored); err != nil {
		return ChildResult{}, fmt.Errorf("the result of a child: %w", err)
	}
	result := stored.ChildResult
	if stored.V > 1 {
		return ChildResult{}, fmt.Errorf("the result of a child: %w: version %d", execution.ErrNewer, stored.V)
	}
	if result.Type != ChildResultType {
		return ChildResult{}, fmt.Errorf("an inbox entry of type %q is no result of a child", result.Type)
	}
	return result, nil
}

// checkAwait refuses inbox entries that a commit cannot wait for.
func checkAwait(t Then) error {
	if len(t.Await) > MaxChildren {
		return fmt.Errorf("%w: a wait for %d entries, at most %d", ErrConflict, len(t.Await), MaxChildren)
	}
	for _, request := range t.Await {
		if request == "" || strings.Contains(string(request), "\n") {
			return fmt.Errorf("%w: a wait for %q", ErrConflict, request)
		}
	}
	if t.Interaction != nil && len(t.Await) > 0 && (len(t.Await) > 1 || t.Await[0] != t.Interaction.RequestID) {
		return fmt.Errorf("%w: an interaction waits for its own answer", ErrConflict)
	}
	return nil
}

func checkCleanup(cleanup *[]byte) error {
	if cleanup != nil && len(*cleanup) > MaxCleanupBytes {
		return fmt.Errorf("%w: a clean-up of %d bytes, at most %d", ErrConflict, len(*cleanup), MaxCleanupBytes)
	}
	return nil
}
