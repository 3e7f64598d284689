package executor

import (
	"context"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// lent is the kit of a claim, with sets of tools that are reached with the tokens of its execution.
type lent struct {
	of, own *local.Kit
	done    func()
}

// kit is the definition's kit as this claim has it. The goroutine that runs the nodes ends it with the claim.
func (h *holder) kit(of *local.Kit) *local.Kit {
	if h.lent.of == of {
		return h.lent.own
	}
	h.giveBack()
	h.lent.of = of
	h.lent.own, h.lent.done = of.For(func(ctx context.Context, refused execution.Credential) (execution.Credential, error) {
		token, err := h.Credential(ctx, refused)
		if err != nil {
			return token, tokenless(err)
		}
		return token, nil
	})
	return h.lent.own
}

// giveBack ends what the claim's kit has open.
func (h *holder) giveBack() {
	if h.lent.done != nil {
		h.lent.done()
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
