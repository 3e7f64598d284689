package executor

import (
	"context"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// lent is the kit of a claim, with sets of tools that are reached with the tokens of its execution.
type lent struct {
	of, own *local.Kit
	done    func(goesOn bool)
}

// kit is the definition's kit as this claim has it. The goroutine that runs the nodes ends it with the claim.
func (h *holder) kit(of *local.Kit) *local.Kit {
	if h.lent.of == of {
		return h.lent.own
	}
	h.giveBack(false)
	h.lent.of = of
	h.lent.own, h.lent.done = of.For(local.Claim{Name: h.leaseName(), Bearer: func(
		ctx context.Context, refused execution.Credential,
	) (execution.Credential, error) {
		token, err := h.Credential(ctx, refused)
		if err != nil {
			return token, tokenless(err)
		}
		return token, nil
	}})
	return h.lent.own
}

// leaseName names the execution and its lease in the memory of this process.
func (h *holder) leaseName() string {
	row := &h.claimed.Execution
	if row.Delegation == nil {
		return ""
	}
	return string(row.ID) + " " + string(row.Delegation.LeaseRef)
}

// giveBack ends what the claim's kit has open, or leaves it to the claim that follows at once: so it is called before that can be
// taken.
func (h *holder) giveBack(goesOn bool) {
	if h.lent.done != nil {
		h.lent.done(goesOn)
	}
	h.lent = lent{}
}

// askForTools has the servers say what their tools are like that the batch is about to call, where that depends on who asks.
func (m *machine) askForTools(ctx context.Context) {
	var names []string
	for i := range m.state.Batch.Calls {
		if call := &m.state.Batch.Calls[i]; call.Status == CallOutstanding {
			names = append(names, call.Name)
		}
	}
	m.kit.Ask(ctx, names)
}
