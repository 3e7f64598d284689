package browser

import (
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// TestThePageOfAParentTellsTheEndOfItsChildren: they end behind it, and its page says so without being loaded anew.
func TestThePageOfAParentTellsTheEndOfItsChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	parent := w.submit(t, "boss", "Find out where the parcel goes.", execution.Running)
	harness.Eventually(t, patience, "the child asks", func() bool {
		parent = w.call(t, http.MethodGet, "/v1/executions/"+string(parent.ID), nil)
		return len(parent.Children) == 1 && parent.Children[0].State == execution.WaitingForInput
	})
	b := open(t, w.api.URL)
	b.media("light", 1280)
	b.visit("/dashboard/executions/" + string(parent.ID))
	b.login(w.tenant)
	b.awaitText(`[data-part="facts"]`, "waiting for input")
	eval[bool](b, `window.stays = true`)
	w.call(t, http.MethodPost, "/v1/executions/"+string(parent.ID)+"/cancel", nil)
	b.awaitText(`[data-part="head"]`, "canceled")
	b.awaitText(`[data-part="facts"]`, "canceled")
	b.stayed(t)
	harness.Eventually(t, patience, "the page follows nothing any more", func() bool {
		return eval[string](b, `document.querySelector("[data-live-state]").textContent`) == ""
	})
}

// TestWhatWasFilledInOutlivesTheSession: whose session ends meanwhile is told so on the page, logs in beside it, and sends what is there.
func TestWhatWasFilledInOutlivesTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	human := w.submit(t, "asker", "Where shall the parcel go?", execution.WaitingForInput)
	at := "/v1/executions/" + string(human.ID)
	b := open(t, w.api.URL)
	b.media("light", 1280)
	b.visit("/dashboard/executions/" + string(human.ID))
	b.login(w.tenant)
	b.awaitText(`[data-live-state]`, "live")
	eval[bool](b, `window.stays = true`)
	b.fill(`//textarea[@name="text"]`, "Yes, next door.")
	call(b, network.ClearBrowserCookies, cdp.Empty{})
	w.call(t, http.MethodPost, at+"/pause", nil)
	w.call(t, http.MethodPost, at+"/resume", nil)
	b.awaitText(`[data-part="question"]`, "Your session has ended")
	b.accessible("session-ended")
	eval[bool](b, `fetch("/dashboard/login", {method: "POST", body: new URLSearchParams({key: "`+w.tenant+`"})}).then((r) => r.ok)`)
	b.stayed(t)
	b.press(`//section[@data-part="question"]//button[contains(@class,"main")]`)
	b.awaitText("main", "The answer was taken.")
	w.await(t, human.ID, execution.Completed)
}
