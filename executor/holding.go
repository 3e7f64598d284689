package executor

import (
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// Holding lists the executions whose claims this runner holds now, in no order.
func (d *Durable) Holding() []execution.ID {
	holders := d.holding("")
	ids := make([]execution.ID, 0, len(holders))
	for _, h := range holders {
		ids = append(ids, h.claimed.Execution.ID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
