package link

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
)

// Checkpoints implements RuntimeLink.
func (l *session) Checkpoints(
	ctx context.Context, id execution.ID, from execution.Step, limit int,
) (execution.CheckpointPage, error) {
	page := execution.CheckpointPage{Checkpoints: []execution.Checkpoint{}, NextFrom: from}
	if err := checkPage(false, limit); err != nil {
		return page, err
	}
	row, err := l.see(ctx, "checkpoints", id)
	if err != nil || from > row.Step {
		return page, err
	}
	stored, err := gatherPage(min(limit, MaxLimit), func(read, limit int) ([][]byte, error) {
		return l.service.cfg.Journal.Checkpoints(ctx, id, from+execution.Step(read), limit)
	})
	if err != nil {
		return page, l.service.problem(ctx, "checkpoints "+string(id), err)
	}
	for _, data := range stored {
		checkpoint, err := l.service.cfg.Boundary(data)
		if err != nil {
			l.service.cfg.Logger.WarnContext(ctx, "a checkpoint cannot be read by this release",
				"execution", id, "step", page.NextFrom, "error", err)
			checkpoint = execution.Checkpoint{Evidence: json.RawMessage("null")} // it is there, and hides no other one
		}
		checkpoint.Step = page.NextFrom // its place, whatever is written in it
		page.Checkpoints = append(page.Checkpoints, checkpoint)
		page.NextFrom++
	}
	page.HasMore = page.NextFrom <= row.Step && len(page.Checkpoints) > 0
	return page, nil
}
