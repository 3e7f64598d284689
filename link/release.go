package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Release implements RuntimeLink.
func (l *session) Release(ctx context.Context, id execution.ID) (execution.Steered, error) {
	row, err := l.steer(ctx, "release", id)
	if err != nil {
		return execution.Steered{}, err
	}
	if l.authority.Role != execution.OperateRole {
		return execution.Steered{}, forbidden("only a key of role operate takes a claim from its holder")
	}
	steered, err := l.apply(ctx, "release", id, l.service.cfg.Journal.TakeBack)
	if err == nil && steered.Changed && row.Claim != nil {
		l.service.cfg.Logger.WarnContext(ctx, "an operator took the claim from its holder", "execution", id,
			"tenant", l.authority.Caller.Tenant, "subject", l.authority.Caller.Subject, "worker", row.Claim.Worker, "step", row.Step)
	}
	return steered, err
}
