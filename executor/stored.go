package executor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// storedCheckpoint is a checkpoint without what follows from the rest of it, under short names: there is one for each step
// of each execution. The evidence follows from node and state, the turn is the state's, counters are zero unless they are
// there. A name never changes its meaning; another shape is another version.
type storedCheckpoint struct {
	V      int                 `json:"v"`
	Step   execution.Step      `json:"s"`
	Node   storedNode          `json:"n"`
	Turn   *int                `json:"ct,omitempty"` // unless it is the state's
	Stream *execution.Sequence `json:"c,omitempty"`  // the evidence's stream cursor
	Resume *Evidence           `json:"e,omitempty"`  // unless it is the state's
	Trace  *TraceContext       `json:"x,omitempty"`  // the evidence's trace
	Meta   Metadata            `json:"cm,omitempty"`
	storedState
}

// storedState is a RunState without its zeros.
type storedState struct {
	Status                *RunStatus        `json:"st,omitempty"` // running when it is not there
	StateTurn             int               `json:"t,omitempty"`
	Usage                 storedUsage       `json:"u,omitempty"`
	Limits                *execution.Limits `json:"l,omitempty"`
	Instructions          string            `json:"p,omitempty"`
	MessageCount          int               `json:"m,omitempty"`
	InvocationID          string            `json:"i,omitempty"`
	OutputRetriesUsed     int               `json:"or,omitempty"`
	ModelErrorRetriesUsed int               `json:"mr,omitempty"`
	ToolRetriesUsed       map[string]int    `json:"tr,omitempty"`
	ModelFailures         int               `json:"mf,omitempty"`
	Repeats               []Repeat          `json:"rp,omitempty"`
	Prompt                *Prompt           `json:"pm,omitempty"`
	Depth                 int               `json:"dp,omitempty"`

	Remote   *RemoteRun         `json:"rm,omitempty"`
	Response *storedResponse    `json:"r,omitempty"`
	Batch    *Batch             `json:"b,omitempty"`
	Output   *execution.Outcome `json:"o,omitempty"`
	Failure  *execution.Failure `json:"f,omitempty"`
	Metadata Metadata           `json:"md,omitempty"`
}

// storedResponse is a Response under short names.
type storedResponse struct {
	Text         string               `json:"t,omitempty"`
	ToolCalls    []execution.ToolCall `json:"c,omitempty"`
	FinishReason string               `json:"f,omitempty"`
	Output       json.RawMessage      `json:"o,omitempty"`
}

// storedUsage are the counts of a usage in the order of usageCounts, without the zeros at their end.
type storedUsage []int64

// usageCounts are where the first counts of a usage stand. Behind them stand 1 for a partial usage, the lost requests and the delegated
// ones.
// New ones go to the end.
func usageCounts(u *execution.Usage) []*int64 {
	return []*int64{
		&u.Requests, &u.InputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.TotalTokens, &u.ToolCalls,
		&u.CostMicros,
	}
}

func storeUsage(u execution.Usage) storedUsage {
	var counts storedUsage
	for _, count := range usageCounts(&u) {
		counts = append(counts, *count)
	}
	partial := int64(0)
	if u.Partial {
		partial = 1
	}
	counts = append(counts, partial, u.LostRequests, u.DelegatedRequests)
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	return counts
}

func (s storedUsage) usage() (u execution.Usage) {
	counts := usageCounts(&u)
	for i, count := range s[:min(len(s), len(counts))] {
		*counts[i] = count
	}
	u.Partial = len(s) > len(counts) && s[len(counts)] != 0
	if behind := len(counts) + 1; len(s) > behind {
		u.LostRequests = s[behind]
	}
	if behind := len(counts) + 2; len(s) > behind {
		u.DelegatedRequests = s[behind]
	}
	return u
}

// nodeCodes are the stored names of Nodes, in their order.
func nodeCodes() []string { return []string{"rs", "pr", "bm", "mr", "tc", "tr", "vo", "rc", "rf"} }

// storedNode is a Node by its code.
type storedNode Node

// MarshalText gives the code; a node without one is none of the nine.
func (n storedNode) MarshalText() ([]byte, error) {
	if i := slices.Index(Nodes(), Node(n)); i >= 0 {
		return []byte(nodeCodes()[i]), nil
	}
	return nil, fmt.Errorf("%w %q", ErrUnknownNode, string(n))
}

// UnmarshalText accepts the nine codes.
func (n *storedNode) UnmarshalText(text []byte) error {
	i := slices.Index(nodeCodes(), string(text))
	if i < 0 {
		return fmt.Errorf("%w: code %q", ErrUnknownNode, text)
	}
	*n = storedNode(Nodes()[i])
	return nil
}

func storeState(s RunState) storedState {
	out := storedState{
		StateTurn: s.Turn, Usage: storeUsage(s.Usage), Instructions: s.Instructions, MessageCount: s.MessageCount,
		InvocationID: s.InvocationID, OutputRetriesUsed: s.OutputRetriesUsed,
		ModelErrorRetriesUsed: s.ModelErrorRetriesUsed, ToolRetriesUsed: s.ToolRetriesUsed,
		ModelFailures: s.ModelFailures, Repeats: s.Repeats, Prompt: s.Prompt, Depth: s.Depth, Remote: s.Remote,
		Response: (*storedResponse)(s.Response), Batch: s.Batch, Output: s.Output, Failure: s.Failure, Metadata: s.Metadata,
	}
	if s.Status != StatusRunning {
		out.Status = &s.Status
	}
	if s.Limits != (execution.Limits{}) {
		out.Limits = &s.Limits
	}
	return out
}

func (s *storedState) state() RunState {
	out := RunState{
		Status: StatusRunning, Turn: s.StateTurn, Usage: s.Usage.usage(), Instructions: s.Instructions,
		MessageCount: s.MessageCount, InvocationID: s.InvocationID, OutputRetriesUsed: s.OutputRetriesUsed,
		ModelErrorRetriesUsed: s.ModelErrorRetriesUsed, ToolRetriesUsed: s.ToolRetriesUsed,
		ModelFailures: s.ModelFailures, Repeats: s.Repeats, Prompt: s.Prompt, Depth: s.Depth, Remote: s.Remote,
		Response: (*Response)(s.Response), Batch: s.Batch, Output: s.Output, Failure: s.Failure, Metadata: s.Metadata,
	}
	if s.Status != nil {
		out.Status = *s.Status
	}
	if s.Limits != nil {
		out.Limits = *s.Limits
	}
	return out
}

// Encode gives the stored form.
func (c Checkpoint) Encode() ([]byte, error) {
	stored := storedCheckpoint{
		V: c.V, Step: c.Step, Node: storedNode(c.Node), Stream: c.Resume.Cursor.StreamCursor, Meta: c.Metadata,
		storedState: storeState(c.State),
	}
	if c.Turn != c.State.Turn {
		stored.Turn = &c.Turn
	}
	if !c.Resume.follows(NewEvidence(c.Node, c.State)) {
		stored.Resume = &c.Resume
	} else if !c.Resume.TraceContext.IsZero() {
		stored.Trace = &c.Resume.TraceContext
	}
	data, err := json.Marshal(stored)
	if err != nil {
		return nil, fmt.Errorf("encode checkpoint %d: %w", c.Step, err)
	}
	return data, nil
}

// follows reports whether the evidence says, but for the stream cursor and the trace, no more than the other one.
func (e Evidence) follows(other Evidence) bool {
	mine, its := e.Cursor, other.Cursor
	mine.StreamCursor, its.StreamCursor = nil, nil
	return e.Node == other.Node && e.Status == other.Status && e.Turn == other.Turn && mine == its &&
		e.Usage == other.Usage && e.ContextRevision == other.ContextRevision && e.EnvironmentRef == other.EnvironmentRef &&
		e.PendingApprovalCount == other.PendingApprovalCount && e.DeferredToolCount == other.DeferredToolCount &&
		e.Metadata == nil
}

// DecodeCheckpoint reads the stored form, also of the version before; the checkpoint it returns is of this one. It returns
// ErrCheckpoint for an unknown node, or a checkpoint that contradicts itself; and an error that is execution.ErrNewer too for
// another v, or a field that this release does not know: the next checkpoint would be without it. Limits that were not stored are
// the definition's.
func DecodeCheckpoint(data []byte) (Checkpoint, error) {
	var stored storedCheckpoint
	err := decodeWhole(data, &stored)
	if err == nil && stored.V == checkpointVersion {
		return stored.checkpoint(stored.state())
	}
	var head struct {
		V int `json:"v"`
	}
	switch json.Unmarshal(data, &head); { //nolint:errcheck // what is no JSON was refused above
	case head.V == 1:
		return decodeFirst(data)
	case head.V > checkpointVersion:
		return Checkpoint{}, newer("checkpoint", head.V, checkpointVersion)
	case head.V == checkpointVersion && unknownField(err):
		return Checkpoint{}, &newerError{"checkpoint", err.Error()}
	case err != nil:
		return Checkpoint{}, fmt.Errorf("%w: %w", ErrCheckpoint, err)
	default:
		return Checkpoint{}, fmt.Errorf("%w: version %d", ErrCheckpoint, head.V)
	}
}

// checkpoint fills in what follows from the state.
func (s *storedCheckpoint) checkpoint(state RunState) (Checkpoint, error) {
	c := Checkpoint{
		V: checkpointVersion, Step: s.Step, Node: Node(s.Node), Turn: state.Turn, State: state, Metadata: s.Meta,
	}
	if s.Turn != nil {
		c.Turn = *s.Turn
	}
	if s.Resume != nil {
		c.Resume = *s.Resume
	} else {
		c.Resume = NewEvidence(c.Node, state)
	}
	if s.Trace != nil {
		c.Resume.TraceContext = *s.Trace
	}
	c.Resume.Cursor.StreamCursor = s.Stream
	if c.Node != c.Resume.Node || c.Turn != c.Resume.Turn || !c.Node.Valid() {
		return Checkpoint{}, fmt.Errorf("%w: boundary %s at turn %d, evidence of %s at turn %d", ErrCheckpoint,
			c.Node, c.Turn, c.Resume.Node, c.Resume.Turn)
	}
	return c, nil
}
