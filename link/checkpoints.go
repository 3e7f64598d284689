package link

import (
	"context"
	"encoding/json"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
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
	stored, err := l.service.storedCheckpoints(ctx, id, from, min(limit, MaxLimit))
	if err != nil {
		return page, l.service.problem(ctx, "checkpoints "+string(id), err)
	}
	for _, one := range stored {
		checkpoint, err := l.service.cfg.Boundary(one.Data)
		if err != nil {
			l.service.cfg.Logger.WarnContext(ctx, "a checkpoint cannot be read by this release",
				"execution", id, "step", page.NextFrom, "error", err)
			checkpoint = execution.Checkpoint{Evidence: json.RawMessage("null")} // it is there, and hides no other one
		}
		checkpoint.Step = page.NextFrom // its place, whatever is written in it
		checkpoint.CommittedAtMs, checkpoint.ClaimedAtMs = one.AtMs, one.ClaimedAtMs
		page.Checkpoints = append(page.Checkpoints, checkpoint)
		page.NextFrom++
	}
	page.HasMore = page.NextFrom <= row.Step && len(page.Checkpoints) > 0
	return page, nil
}

// storedCheckpoints reads a page of at most limit checkpoints.
func (s *Service) storedCheckpoints(
	ctx context.Context, id execution.ID, from execution.Step, limit int,
) ([]journal.StoredCheckpoint, error) {
	var found []journal.StoredCheckpoint
	page, err := gatherPage(limit, func(read, limit int) ([][]byte, error) {
		some, err := s.cfg.Journal.Checkpoints(ctx, id, from+execution.Step(read), limit)
		found = append(found, some...)
		data := make([][]byte, len(some))
		for i := range some {
			data[i] = some[i].Data
		}
		return data, err
	})
	return found[:len(page)], err
}
