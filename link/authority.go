package link

import (
	"context"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// maySubmit checks the role for a submission.
func (l *session) maySubmit() error {
	if l.authority.Caller.Tenant == execution.AllTenants {
		return forbidden("a caller of all tenants submits nothing: there is no tenant that it would belong to")
	}
	switch l.authority.Role {
	case execution.SubmitRole, execution.OperateRole:
		return nil
	case execution.ReadRole:
		return forbidden("a key of role read submits nothing")
	default:
		return forbidden("the caller has no role")
	}
}

// see returns the row if the caller may see it.
func (l *session) see(ctx context.Context, operation string, id execution.ID) (journal.Execution, error) {
	if _, err := execution.ParseID(string(id)); err != nil {
		return journal.Execution{}, invalid("id", "not an execution id").Because(err)
	}
	row, err := l.service.cfg.Journal.Get(ctx, id)
	if err != nil {
		return journal.Execution{}, l.service.problem(ctx, operation+" "+string(id), err)
	}
	return row, l.maySee(&row)
}

// steer returns the row if the caller may change its course.
func (l *session) steer(ctx context.Context, operation string, id execution.ID) (journal.Execution, error) {
	row, err := l.see(ctx, operation, id)
	if err != nil {
		return journal.Execution{}, err
	}
	if l.authority.Role == execution.ReadRole {
		return journal.Execution{}, forbidden("a key of role read steers nothing")
	}
	return row, nil
}

// maySee hides other tenants' executions and keeps a submitter to its own.
func (l *session) maySee(row *journal.Execution) error {
	caller := l.authority.Caller
	if !caller.Sees(row.Caller) {
		return notFound()
	}
	switch l.authority.Role {
	case execution.ReadRole, execution.OperateRole:
		return nil
	case execution.SubmitRole:
		if row.Caller == caller {
			return nil
		}
		return forbidden("a key of role submit sees its own executions only")
	default:
		return forbidden("the caller has no role")
	}
}

func forbidden(detail string) error { return execution.NewAPIError(execution.Forbidden, "%s", detail) }
