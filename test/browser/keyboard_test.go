package browser

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// TestThePagesAreOperatedByKeyboard: whatever has the focus shows it, the first one skips to the content, and a question is
// answered without a mouse.
func TestThePagesAreOperatedByKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	human := w.submit(t, "asker", "Where shall the parcel go?", execution.WaitingForInput)
	b := open(t, w.api.URL)
	b.media("dark", 1280)
	b.visit("/dashboard/executions/" + string(human.ID))
	harness.Eventually(t, patience, "the field for the key has the focus", func() bool {
		return eval[string](b, `document.activeElement.id`) == "key"
	})
	b.typed(w.tenant)
	require.Equal(t, w.tenant, eval[string](b, `document.activeElement.value`))
	b.typed(kb.Enter)
	b.awaitText("h1", string(human.ID))
	b.typed(kb.Tab)
	require.Equal(t, "Skip to the content", eval[string](b, `document.activeElement.textContent`))
	require.GreaterOrEqual(t, eval[float64](b, `document.activeElement.getBoundingClientRect().top`), 0.0, "it is seen")
	b.typed(kb.Enter)
	require.Equal(t, "main", eval[string](b, `document.activeElement.id`))
	for range 40 {
		b.typed(kb.Tab)
		// The content shows no focus, as nothing is done with it; a browser may focus it once more when it has scrolled there.
		require.True(t, eval[bool](b, `["BODY", "MAIN"].includes(document.activeElement.tagName) || getComputedStyle(document.activeElement).outlineStyle !== "none"`),
			"%s shows that it has the focus", eval[string](b, `document.activeElement.outerHTML.slice(0, 200)`))
		if eval[bool](b, `document.activeElement.name === "text"`) {
			b.typed("Yes, next door." + kb.Tab + kb.Enter)
			b.awaitText("main", "The answer was taken.")
			b.awaitText(`[data-part="head"]`, "completed")
			return
		}
	}
	t.Fatal("the field for the answer was not reached")
}

// TestACallIsApprovedAndAnExecutionCanceledByKeyboard: what cannot wait on call needs no mouse.
func TestACallIsApprovedAndAnExecutionCanceledByKeyboard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	asking := w.submit(t, "support", "Refund order 7, please.", execution.WaitingForInput)
	unwanted := w.submit(t, "asker", "Where shall the parcel go?", execution.WaitingForInput)
	b := open(t, w.api.URL)
	b.media("light", 1280)
	b.visit("/dashboard/login")
	b.login(w.tenant)
	b.visit("/dashboard/executions/" + string(asking.ID))
	b.tabTo(`document.activeElement.type === "radio"`)
	b.typed(kb.ArrowDown)
	for range 8 {
		if eval[bool](b, `document.activeElement.value === "approve"`) {
			break
		}
		b.typed(kb.ArrowDown)
	}
	require.True(t, eval[bool](b, `document.activeElement.value === "approve" && document.activeElement.checked`))
	b.tabTo(`document.activeElement.closest("form[action$='/answer']") && document.activeElement.tagName === "BUTTON"`)
	b.typed(kb.Enter)
	b.awaitText("main", "The answer was taken.")
	w.await(t, asking.ID, execution.Completed)

	b.visit("/dashboard/executions/" + string(unwanted.ID))
	b.tabTo(`document.activeElement.parentElement.id === "cancel"`)
	b.typed(kb.Enter)
	b.tabTo(`document.activeElement.textContent === "Cancel the execution"`)
	b.typed(kb.Enter)
	b.awaitText("main", "Cancel is requested")
	w.await(t, unwanted.ID, execution.Canceled)
}

// tabTo goes on with Tab until the script holds.
func (b *browser) tabTo(script string) {
	b.t.Helper()
	for range 80 {
		b.typed(kb.Tab)
		if eval[bool](b, "Boolean("+script+")") {
			return
		}
	}
	b.t.Fatalf("Tab does not lead to %s", script)
}

// typed types on the keyboard.
func (b *browser) typed(keys string) {
	b.t.Helper()
	run(b, "type", chromedp.KeyEvent(keys))
}
