package executor

import (
	"errors"

	"github.com/pawl-run/pawl/execution"
)

// checkpointVersion is the v of the checkpoints this release writes.
const checkpointVersion = 2

// ErrCheckpoint reports a stored checkpoint that this release cannot read.
var ErrCheckpoint = errors.New("unreadable checkpoint")

// Checkpoint is the record of a boundary. It is named by its execution and step; the ids are filled in for those who look
// at one and are not stored, so that a copy for another execution is the very same bytes.
type Checkpoint struct {
	V              int                      `json:"v"`
	ExecutionID    execution.ID             `json:"-"`
	ConversationID execution.ConversationID `json:"-"`
	Step           execution.Step           `json:"step"`
	Node           Node                     `json:"node"`
	Turn           int                      `json:"turn"`
	Resume         Evidence                 `json:"resume"`
	State          RunState                 `json:"state"`
	Metadata       Metadata                 `json:"metadata,omitempty"`
}

// NewCheckpoint builds the checkpoint of a boundary. The state is copied in full.
func NewCheckpoint(step execution.Step, node Node, state RunState) Checkpoint {
	state = state.Clone()
	return Checkpoint{
		V: checkpointVersion, Step: step, Node: node, Turn: state.Turn, Resume: NewEvidence(node, state), State: state,
	}
}

// WithMetadata returns a copy whose metadata is replaced.
func (c Checkpoint) WithMetadata(metadata Metadata) Checkpoint {
	c.Metadata = metadata.clone()
	return c
}

// WithStreamCursor returns a copy whose evidence carries the cursor.
func (c Checkpoint) WithStreamCursor(sequence execution.Sequence) Checkpoint {
	c.Resume = c.Resume.WithStreamCursor(sequence)
	return c
}
