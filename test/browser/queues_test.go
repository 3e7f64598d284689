package browser

import (
	"testing"

	"github.com/pawl-run/pawl/execution"
)

// TestATaskLeadsToItsExecution: Asynq's pages load nothing from elsewhere either, and lead from a task to its execution,
// whose page says that nobody takes the task.
func TestATaskLeadsToItsExecution(t *testing.T) {
	t.Parallel()
	w := idle(t)
	view := w.submit(t, "support", "Refund order 7, please.", execution.Queued)
	b := open(t, w.api.URL)
	b.media("light", 1280)
	b.visit("/dashboard/")
	b.login(w.oncall)
	b.awaitText("main", "No live worker takes tasks")
	b.press(`//nav//a[text()="Queues"]`)
	b.visit("/monitoring/queues/default-new?status=pending")
	b.awaitText("details", "1 execution on this page")
	b.click(`//details/summary`)
	b.press(`//details//a[text()="` + string(view.ID) + `"]`)
	b.awaitText(`[data-part="why"]`, "No live worker serves this queue")
}
