package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// Boundary is what a client sees of a stored checkpoint. Whoever shows them gets it as a function value. It returns
// ErrCheckpoint as DecodeCheckpoint does. Evidence holds nothing that is secret: counts, positions, and the names that the
// submission's metadata gave.
func Boundary(data []byte) (execution.Checkpoint, error) {
	stored, err := DecodeCheckpoint(data)
	if err != nil {
		return execution.Checkpoint{}, err
	}
	evidence, err := json.Marshal(stored.Resume)
	if err != nil {
		return execution.Checkpoint{}, fmt.Errorf("encode the evidence of checkpoint %d: %w", stored.Step, err)
	}
	return execution.Checkpoint{
		Step: stored.Step, Node: string(stored.Node), Turn: stored.Turn, Usage: stored.Resume.Usage, Evidence: evidence,
		Forkable: Forkable(stored.Node),
	}, nil
}
