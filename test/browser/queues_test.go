package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

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
	b.leadsBack(t)
	b.visit("/monitoring/queues/default-new?status=pending")
	b.awaitText("details", "1 execution on this page")
	b.click(`//details/summary`)
	b.press(`//details//a[text()="` + string(view.ID) + `"]`)
	b.awaitText(`[data-part="why"]`, "No live worker serves this queue")
}

// leadsBack follows the way back from Asynq's pages by keyboard: it is the first thing on them, at any width and in both themes, and
// what is added to them is accessible.
func (b *browser) leadsBack(t *testing.T) {
	t.Helper()
	const back = `.pawl-back a`
	b.visit("/monitoring/servers") // where no chart is too narrow for itself
	for _, theme := range []string{"dark", "light"} {
		for _, width := range []int64{360, 1920} {
			b.media(theme, width)
			b.visit("/monitoring/servers")
			b.awaitText("#root", "Info")
			b.awaitText(back, "Pawl")
			b.accessible("queues-"+theme, ".pawl-back")
			require.True(t, eval[bool](b, `(() => { const box = document.querySelector("`+back+`").getBoundingClientRect();
				return document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2).closest("`+back+`") !== null })()`), "nothing is above it")
		}
	}
	b.typed(kb.Tab)
	require.True(t, eval[bool](b, `document.activeElement.matches("`+back+`") && getComputedStyle(document.activeElement).outlineStyle !== "none"`))
	b.typed(kb.Enter)
	b.awaitText("h1", "Overview")
	require.True(t, strings.HasPrefix(eval[string](b, `location.pathname`), "/dashboard/"))
	b.media("light", 1280)
}
