package browser

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// TestWhatAPersonOnCallDoes: case H2, the pages show and do what the API does. Somebody logs in with a key, finds what is
// stuck, sees why and lets it go on, approves a tool call with other arguments, cancels another execution, forks, and
// watches the fork end, all without loading a page anew.
func TestWhatAPersonOnCallDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stuck := w.submit(t, "frugal", "Find order 8.", execution.Suspended)
	asking := w.submit(t, "support", "Refund order 7, please.", execution.WaitingForInput)
	other := w.submit(t, "asker", "Where shall the parcel go?", execution.WaitingForInput)
	b := open(t, w.api.URL)
	b.media("light", 1280)

	b.visit("/dashboard/executions/" + string(stuck.ID)) // not logged in: the login leads back
	b.login(w.tenant)
	b.awaitText("h1", string(stuck.ID))
	b.press(`//nav//a[text()="Overview"]`)
	b.awaitText(`[data-part="suspended"]`, "limit")

	b.follow(`//section[@data-part="suspended"]//a[@title="` + string(stuck.ID) + `"]`)
	b.awaitText(`[data-part="why"]`, "It has reached one of its limits (maxModelRequests (1))")
	b.click(`//details[@id="resume-with"]/summary`)
	b.fill(`//details[@id="resume-with"]//input[@name="maxModelRequests"]`, "10")
	b.press(`//details[@id="resume-with"]//button`)
	b.awaitText("main", "The execution goes on.")
	b.awaitText(`[data-part="head"]`, "completed")
	b.awaitText(`[data-part="answer"]`, "It was found.")

	b.press(`//nav//a[text()="Overview"]`)
	b.follow(`//section[@data-part="asking"]//a[@title="` + string(asking.ID) + `"]`)
	b.approveEdited(t, w)
	b.readLedger()
	b.cancelOther(t, w, other)
	b.forkAndWatch(t, w, asking)
	b.press(`//button[text()="Log out"]`)
	b.awaitText("h1", "Log in")
}

// approveEdited lets the tool be called with another amount, and watches the answer come.
func (b *browser) approveEdited(t *testing.T, w *world) {
	t.Helper()
	b.awaitText(`[data-part="question"]`, "refund")
	b.click(`//input[@value="edit"]`)
	b.fill(`//textarea[starts-with(@name,"arguments.")]`, `{"order": 7, "amount": `)
	b.awaitText(`[data-part="question"]`, "This is not JSON")
	b.fill(`//textarea[starts-with(@name,"arguments.")]`, `{"order": 7, "amount": 64}`)
	b.press(`//section[@data-part="question"]//button[contains(@class,"main")]`)
	eval[bool](b, `window.stays = true`)
	b.awaitText("main", "The answer was taken.")
	b.awaitText(`[data-part="head"]`, "completed")
	b.awaitText(`[data-part="answer"]`, "the refund is on its way")
	b.stayed(t)
	calls := w.tools.WaitCalls(t, patience, "/refund", 1)
	require.Len(t, calls, 1)
	require.JSONEq(t, `{"order":7,"amount":64}`, string(calls[0].Arguments))
}

// readLedger looks at what became of the calls.
func (b *browser) readLedger() {
	b.t.Helper()
	b.press(`//nav[@aria-label="Parts of the execution"]//a[text()="Tool calls"]`)
	const ledger = `[data-part="tools"]`
	for _, text := range []string{
		"lookup", "read only: it changes nothing", "unsafe: once it was started, it is never carried out again by itself", "done", " later",
		":call_0_1", `"amount": 64`, "A person gave the arguments.", `"refunded": true`,
	} {
		b.awaitText(ledger, text)
	}
}

func (b *browser) cancelOther(t *testing.T, w *world, other execution.View) {
	t.Helper()
	b.visit("/dashboard/find?id=" + string(other.ID))
	b.click(`//details[@id="cancel"]/summary`)
	b.press(`//details[@id="cancel"]//button`)
	b.awaitText("main", "Cancel is requested")
	b.awaitText(`[data-part="head"]`, "canceled")
	w.await(t, other.ID, execution.Canceled)
}

// forkAndWatch forks from the first checkpoint and watches the fork ask, take the answer and end.
func (b *browser) forkAndWatch(t *testing.T, w *world, from execution.View) {
	t.Helper()
	b.visit("/dashboard/executions/" + string(from.ID) + "/checkpoints")
	b.click(`//details[@id="fork-0"]/summary`)
	b.fill(`//details[@id="fork-0"]//textarea[@name="text"]`, "Refund it in part.")
	b.press(`//details[@id="fork-0"]//button`)
	b.awaitText("main", "This is the fork")
	eval[bool](b, `window.stays = true`)
	b.awaitText(`[data-part="question"]`, "refund")
	b.stayed(t)
	b.click(`//input[@value="reject"]`)
	b.press(`//section[@data-part="question"]//button[contains(@class,"main")]`)
	eval[bool](b, `window.stays = true`)
	eval[bool](b, `new MutationObserver(() => { window.written = (window.written ?? "") + document.querySelector("[data-answer]").textContent })
		.observe(document.querySelector("[data-answer]"), {childList: true, characterData: true, subtree: true}), true`)
	b.awaitText(`[data-part="head"]`, "completed")
	b.awaitText(`[data-part="log"]`, "execution completed")
	b.stayed(t)
	require.Contains(t, eval[string](b, `window.written ?? ""`), "The order was looked up", "the answer was shown while it was written")
	fork := execution.ID(strings.TrimPrefix(eval[string](b, `location.pathname`), "/dashboard/executions/"))
	require.Equal(t, from.ID, w.await(t, fork, execution.Completed).ForkedFrom.ExecutionID)
}

// stayed asserts that the page was not loaded anew since it was marked.
func (b *browser) stayed(t *testing.T) {
	t.Helper()
	require.True(t, eval[bool](b, `window.stays === true`), "the page followed what happened by itself")
}
