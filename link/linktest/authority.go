package linktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// reads calls everything that shows an execution; steers everything that changes one.
func reads(t *testing.T, l link.RuntimeLink, id execution.ID) map[string]error {
	t.Helper()
	ctx := bounded(t)
	errs := map[string]error{}
	_, errs["execution"] = l.Execution(ctx, id)
	_, errs["wait"] = l.Wait(ctx, id, 0, time.Millisecond)
	_, errs["events"] = l.Events(ctx, id, 0, 10)
	_, errs["messages"] = l.Messages(ctx, id, 0, 10)
	_, errs["checkpoints"] = l.Checkpoints(ctx, id, 0, 10)
	_, errs["tool calls"] = l.ToolCalls(ctx, id, 0, 10)
	_, errs["why"] = l.Why(ctx, id)
	stream, err := l.Follow(ctx, id, 0)
	if errs["follow"] = err; err == nil {
		require.NoError(t, stream.Close())
	}
	return errs
}

func steers(t *testing.T, l link.RuntimeLink, id execution.ID) map[string]error {
	t.Helper()
	ctx := bounded(t)
	errs := map[string]error{}
	_, errs["input"] = l.SubmitInput(ctx, id, Answer("op", "question", "yes"))
	_, errs["cancel"] = l.Cancel(ctx, id)
	_, errs["pause"] = l.Pause(ctx, id)
	_, errs["resume"] = l.Resume(ctx, id, execution.ResumeRequest{})
	_, errs["fork"] = l.Fork(ctx, id, "", execution.ForkRequest{})
	return errs
}

func hiddenFromTenants(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	for _, role := range []execution.CallerRole{execution.SubmitRole, execution.ReadRole, execution.OperateRole} {
		stranger := h.As(execution.Authority{
			Caller: execution.CallerScope{Tenant: "acme", Subject: "local"}, Role: role,
		})
		unchanged(t, h, func() {
			for _, calls := range []map[string]error{reads(t, stranger, id), steers(t, stranger, id)} {
				for name, err := range calls {
					require.ErrorIs(t, err, execution.ErrNotFound, name)
				}
			}
		})
	}
}

func rolesBound(t *testing.T, h Harness) {
	as := func(subject string, role execution.CallerRole) link.RuntimeLink {
		return h.As(execution.Authority{
			Caller: execution.CallerScope{Tenant: "default", Subject: subject}, Role: role,
		})
	}
	id := submit(t, as("ann", execution.SubmitRole))
	unchanged(t, h, func() {
		for name, err := range reads(t, as("bob", execution.SubmitRole), id) {
			require.ErrorIs(t, err, execution.ErrForbidden, name)
		}
		for _, l := range []link.RuntimeLink{as("bob", execution.SubmitRole), as("ann", execution.ReadRole)} {
			for name, err := range steers(t, l, id) {
				require.ErrorIs(t, err, execution.ErrForbidden, name)
			}
		}
		for _, role := range []execution.CallerRole{execution.ReadRole, execution.OperateRole} {
			for name, err := range reads(t, as("bob", role), id) {
				require.NoError(t, err, name)
			}
		}
		_, err := as("bob", execution.ReadRole).Create(bounded(t), "", Request("hello"))
		require.ErrorIs(t, err, execution.ErrForbidden)
	})
	_, err := as("bob", execution.OperateRole).Cancel(bounded(t), id)
	require.NoError(t, err)
}

func unknownIDs(t *testing.T, h Harness) {
	unknown := execution.NewID(7)
	for _, calls := range []map[string]error{reads(t, h.Local(), unknown), steers(t, h.Local(), unknown)} {
		for name, err := range calls {
			require.ErrorIs(t, err, execution.ErrNotFound, name)
		}
	}
	for _, id := range []execution.ID{"exec_1", "not/an/id", "exec_99" + "01ARZ3NDEKTSV4RRFFQ69G5FAV"} {
		for _, calls := range []map[string]error{reads(t, h.Local(), id), steers(t, h.Local(), id)} {
			for name, err := range calls {
				require.ErrorIs(t, err, execution.ErrInvalid, name)
				Refused(t, err, execution.InvalidRequest, "id")
			}
		}
	}
}
