package browser

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// TestEveryPageInBothThemesAtThreeWidths looks at every page: nothing is wider than the window, axe-core finds nothing
// serious, nothing comes from elsewhere.
func TestEveryPageInBothThemesAtThreeWidths(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asking := w.submit(t, "support", "Refund order 7, please.", execution.WaitingForInput)
	human := w.submit(t, "asker", "Where shall the parcel go?", execution.WaitingForInput)
	stuck := w.submit(t, "frugal", "Find order 8.", execution.Suspended)
	done := w.finished(t)

	b := open(t, w.api.URL)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 800, 1920} {
			b.media(theme, width)
			b.visit("/dashboard/login")
			b.look("login", theme, width)
		}
	}
	b.login(w.oncall)
	one := func(view execution.View, tab string) string { return "/dashboard/executions/" + string(view.ID) + tab }
	const unfold = `document.querySelectorAll("details").forEach((d) => { d.open = true }); true`
	pages := []struct{ name, path, prepare string }{
		{"overview", "/dashboard/", ""},
		{"executions", "/dashboard/executions", ""},
		{"executions-filtered", "/dashboard/executions?state=suspended&agent=frugal&metadata=order%3D7&since=1h", ""},
		{"execution-approval", one(asking, ""), ""},
		{"execution-question", one(human, ""), ""},
		{"execution-suspended", one(stuck, ""), ""},
		{"execution-completed", one(done, ""), ""},
		{"messages", one(done, "/messages"), ""},
		{"tools", one(done, "/tools"), ""},
		{"tools-planned", one(asking, "/tools"), ""},
		{"checkpoints", one(done, "/checkpoints"), ""},
		{"conversations", "/dashboard/conversations", ""},
		{"conversation", "/dashboard/conversations/" + string(done.ConversationID), ""},
		{"workers", "/dashboard/workers", ""},
		{"agents", "/dashboard/agents", ""},
		{"execution-approval-edit", one(asking, ""), `document.querySelector("input[value=edit]").click(); ` + unfold},
		{"execution-suspended-open", one(stuck, ""), unfold},
		{"checkpoints-open", one(done, "/checkpoints"), unfold},
	}
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{360, 800, 1920} {
			b.media(theme, width)
			for _, page := range pages {
				b.visit(page.path)
				if page.prepare != "" {
					eval[bool](b, page.prepare)
				}
				b.look(page.name, theme, width)
			}
			b.visit("/dashboard/executions/exec_00" + strings.Repeat("0", 26))
			b.look("not-found", theme, width)
			b.pardon("404")
			b.visit("/dashboard/executions?state=lost")
			b.look("refused-filter", theme, width)
			b.pardon("400")
		}
	}
	b.press(`//button[text()="Log out"]`)
	b.login(w.tenant) // who is of a tenant may fork
	for _, width := range []int64{360, 800} {
		b.media("light", width)
		b.visit(one(done, "/checkpoints"))
		b.click(`//details[@id="fork-1"]/summary`)
		b.look("checkpoints-fork", "light", width)
	}
}

// finished is an execution that was approved and has ended.
func (w *world) finished(t *testing.T) execution.View {
	t.Helper()
	view := w.submit(t, "support", "Refund order 7, please.", execution.WaitingForInput)
	call := view.Interaction.Calls[0]
	w.call(t, "POST", "/v1/executions/"+string(view.ID)+"/input", execution.SubmitInput{
		OperationID: "approve", Input: execution.Input{
			Type: execution.ToolApproval, RequestID: view.Interaction.RequestID,
			Decisions: []execution.Decision{{CallID: call.CallID, Decision: execution.Approve}},
		},
	})
	return w.await(t, view.ID, execution.Completed)
}

// pardon takes back what the browser says of a page that was answered with an error status, as it should be.
func (b *browser) pardon(status string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = slices.DeleteFunc(b.faults, func(fault string) bool {
		return strings.Contains(fault, "Failed to load resource") && strings.Contains(fault, status)
	})
}

func (b *browser) look(name, theme string, width int64) {
	b.t.Helper()
	full := fmt.Sprintf("%s-%s-%d", name, theme, width)
	b.picture(full)
	wide := eval[float64](b, `document.documentElement.scrollWidth`)
	require.LessOrEqual(b.t, wide, float64(width), "%s scrolls sideways", full)
	b.accessible(full)
}
