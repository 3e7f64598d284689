package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Standing is an execution as it is, and where its log and its history end, all from one look at it.
type Standing struct {
	View execution.View
	// Last is the sequence of the last event: the view tells everything up to it.
	Last execution.Sequence
	// Messages is how many messages RuntimeLink.Messages has of it.
	Messages int
}

// Standing is for callers beside the service who would else have to read a log, or a history, to know where it ends. It costs
// the same however long they are. Errors are those of RuntimeLink.Execution.
func (s *Service) Standing(ctx context.Context, authority execution.Authority, id execution.ID) (Standing, error) {
	caller := &session{service: s, authority: authority}
	row, err := caller.see(ctx, "get", id)
	if err != nil {
		return Standing{}, err
	}
	view, err := s.view(ctx, &row)
	return Standing{View: view, Last: row.LastSequence, Messages: row.HistoryEnd}, err
}
