package link

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Resume implements RuntimeLink.
func (l *session) Resume(
	ctx context.Context, id execution.ID, request execution.ResumeRequest,
) (execution.Steered, error) {
	if err := validateResume(request); err != nil {
		return execution.Steered{}, err
	}
	row, err := l.steer(ctx, "resume", id)
	if err != nil {
		return execution.Steered{}, err
	}
	resumption, err := l.service.resumption(ctx, &row, request.Limits)
	if err != nil {
		return execution.Steered{}, err
	}
	steered, err := l.apply(ctx, "resume", id, func(ctx context.Context, id execution.ID) (journal.Change, error) {
		return l.service.cfg.Journal.Resume(ctx, id, resumption)
	})
	if err == nil && steered.Changed && request.Reason != "" {
		l.service.cfg.Logger.InfoContext(ctx, "resumed", "execution", id,
			"tenant", l.authority.Caller.Tenant, "subject", l.authority.Caller.Subject, "reason", request.Reason)
	}
	return steered, err
}

func validateResume(request execution.ResumeRequest) error {
	if len(request.Reason) > execution.MaxReasonLength {
		return invalid("reason", "want at most %d bytes, got %d", execution.MaxReasonLength, len(request.Reason))
	}
	if !utf8.ValidString(request.Reason) {
		return invalid("reason", "must be valid UTF-8")
	}
	return validateLimits(request.Limits)
}

// resumption is what a resume changes of the row: the limits in force with those that were asked for in front.
func (s *Service) resumption(
	ctx context.Context, row *journal.Execution, limits *execution.Limits,
) (journal.Resumption, error) {
	if limits == nil || *limits == (execution.Limits{}) || row.State.Terminal() {
		return journal.Resumption{}, nil
	}
	definition, adjustments, err := s.inForce(ctx, row)
	if err != nil {
		return journal.Resumption{}, err
	}
	if err := takesLimits(definition, limits); err != nil {
		return journal.Resumption{}, err
	}
	next := limits.Over(definition.Limits)
	if next.MaxCost > 0 && !definition.Model.Priced() {
		return journal.Resumption{}, invalid("limits.maxCost",
			"the price of every model that may be asked must be known: see prices in the agent file")
	}
	if row.State == execution.Suspended {
		if err := s.shareOf(ctx, row, definition.Limits, next); err != nil {
			return journal.Resumption{}, err
		}
	}
	adjustments.Limits = &next
	encoded, err := adjustments.Encode()
	if err != nil {
		return journal.Resumption{}, execution.NewAPIError(execution.Internal, "").Because(err)
	}
	return journal.Resumption{Overrides: encoded, Deadline: limits.Deadline}, nil
}

// inForce is the definition that holds for the execution, with the limits that do, and what of it stands on its row.
func (s *Service) inForce(ctx context.Context, row *journal.Execution) (*agent.Definition, agent.Adjustments, error) {
	data, err := s.cfg.Journal.Definition(ctx, row.Definition)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		return nil, agent.Adjustments{}, s.problem(ctx, "resume "+string(row.ID), err)
	}
	var definition *agent.Definition
	var adjustments agent.Adjustments
	if err == nil {
		definition, err = agent.Decode(data)
	}
	if err == nil {
		adjustments, err = agent.DecodeAdjustments(row.Overrides)
	}
	if err == nil {
		definition, err = definition.Adjusted(adjustments)
	}
	if err != nil {
		return nil, adjustments, execution.NewAPIError(execution.Conflict,
			"the agent's definition cannot be read by this version: the limits in force are not known").
			In("limits").Because(fmt.Errorf("definition of %s: %w", row.ID, err))
	}
	if adjustments.Limits == nil {
		limited := *definition
		limited.Limits = limitsOf(definition, row.Request)
		definition = &limited
	}
	return definition, adjustments, nil
}
