package browser

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
)

// TestALoginOnTheIssuersPage: somebody follows a link, logs in on the page of an issuer, which is another site, and is where
// the link led; logs out here and there; and is told why when the issuer gives no role.
func TestALoginOnTheIssuersPage(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddr(t)
	i := newIssuer(t, "http://"+address+"/dashboard/login/callback")
	w := idle(t, map[string]string{
		"PAWL_HTTP_ADDR": address, "PAWL_LOG_LEVEL": "debug", "PAWL_OIDC_ISSUER": i.url, "PAWL_OIDC_AUDIENCE": "pawl",
		"PAWL_OIDC_CLIENT_ID": clientID, "PAWL_OIDC_CLIENT_SECRET": clientSecret, "PAWL_OIDC_SCOPES": "openid,profile",
		"PAWL_OIDC_NAME": "Example",
	})
	w.api.WaitLog(patience, "tokens of the issuer are taken")
	b := open(t, w.api.URL)
	b.also = i.url
	for _, theme := range []string{"dark", "light"} {
		for _, width := range []int64{360, 1024, 1920} {
			b.media(theme, width)
			b.visit("/dashboard/login")
			b.look("login-issuer", theme, width)
		}
	}

	b.media("light", 1280)
	const there = "/dashboard/executions?state=queued"
	b.visit(there)
	b.throughIssuer("ann")
	b.arrives(w.api.URL + there)
	b.awaitText(".who", "default · operate")
	require.Empty(t, eval[string](b, `document.cookie`), "scripts see no cookie")
	b.keepsNothing(t, i)
	b.visit("/dashboard/agents")
	b.awaitText(".who", "ann")

	b.press(`//button[text()="Log out"]`)
	b.awaitText("main", "Example may still know you")
	b.look("login-left", "light", 1280)
	b.press(`//a[text()="log out there too"]`)
	b.awaitText("h1", "You have left")
	b.visit("/dashboard/")
	b.awaitText("h1", "Log in")

	b.throughIssuer("ben") // whose role the userinfo endpoint has
	b.arrives(w.api.URL + "/dashboard/")
	b.awaitText(".who", "default · read")
	b.awaitText("[data-live-state]", "live") // a stream that opens while the session ends is refused, and the console says so
	b.press(`//button[text()="Log out"]`)
	b.awaitText("h1", "Log in")

	b.throughIssuer("eve")
	b.awaitArrival("main", "Example says not what you may do here: the claim role")
	b.look("login-refused", "light", 1280)
	b.arrives(w.api.URL + "/dashboard/login") // the page's own address was that of the code
	b.forgive("status of 403")                // the browser says so of the page
	b.keepsNothing(t, i)
	require.Len(t, i.given(), 3)
	for _, code := range i.given() {
		require.Zero(t, w.api.LogCount(code))
	}
	require.NotZero(t, w.api.LogCount("/dashboard/login/callback"), "the log has its path")
	require.Zero(t, w.api.LogCount("callback?"))
	b.visit("/dashboard/login")
	b.login(w.tenant)
	b.awaitText(".who", "ida") // a key opens the pages as well
}

// TestALoginThatIsNotOnesOwn: a code that somebody got at the issuer logs nobody else in.
func TestALoginThatIsNotOnesOwn(t *testing.T) {
	t.Parallel()
	address := harness.FreeAddr(t)
	i := newIssuer(t, "http://"+address+"/dashboard/login/callback")
	w := idle(t, map[string]string{
		"PAWL_HTTP_ADDR": address, "PAWL_OIDC_ISSUER": i.url, "PAWL_OIDC_AUDIENCE": "pawl", "PAWL_OIDC_CLIENT_ID": clientID,
		"PAWL_OIDC_CLIENT_SECRET": clientSecret,
	})
	w.api.WaitLog(patience, "tokens of the issuer are taken")
	b := open(t, w.api.URL)
	b.also = i.url
	b.visit("/dashboard/login")
	b.throughIssuer("ann")
	b.arrives(w.api.URL + "/dashboard/")
	cookies := call(b, network.GetCookies, network.GetCookiesParams{URLs: []string{w.api.URL + "/dashboard/login/callback"}})
	for _, cookie := range cookies.Cookies {
		require.NotEqual(t, "pawl_login", cookie.Name, "it is spent")
	}
	require.Len(t, i.given(), 1)

	other := open(t, w.api.URL)
	other.visit("/dashboard/login/callback?code=" + i.given()[0] + "&state=of-somebody-else")
	other.awaitText("main", "this login was not begun in this browser")
	other.forgive("status of 401")
	answer, err := w.api.Do(t.Context(), http.MethodGet, "/dashboard/", nil, nil)
	require.NoError(t, err)
	require.Contains(t, string(answer.Body), "Log in with localhost:")
}

// throughIssuer goes from the login page to the issuer's and says who one is, once wrongly.
func (b *browser) throughIssuer(name string) {
	b.t.Helper()
	b.click(`//button[starts-with(text(),"Log in with")]`)
	b.awaitArrival("h1", "Who are you?")
	b.fill(`//input[@name="name"]`, name)
	b.fill(`//input[@name="password"]`, "a guess")
	b.press(`//button`)
	b.awaitText("p", "password wrong")
	b.fill(`//input[@name="name"]`, name)
	b.fill(`//input[@name="password"]`, "of "+name)
	b.click(`//button`)
}

// awaitArrival is awaitText while pages follow each other by themselves: a page that goes away answers nothing.
func (b *browser) awaitArrival(selector, text string) {
	b.t.Helper()
	b.awaitScript(`[...document.querySelectorAll("`+selector+`")].map((e) => e.innerText).join(" ")`, text)
}

// arrives waits until the browser is at the address.
func (b *browser) arrives(address string) {
	b.t.Helper()
	b.awaitScript(`location.href + (document.readyState === "complete" ? " loaded" : "")`, address+" loaded")
}

func (b *browser) awaitScript(script, text string) {
	b.t.Helper()
	last := ""
	if !harness.Poll(patience, func() bool {
		said, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](script))
		if err == nil {
			last = said
		}
		return strings.Contains(last, text)
	}) {
		b.t.Fatalf("the browser does not come to %q but says %q", text, last)
	}
}

// keepsNothing asserts that no code of the issuer is left in the page or in the browser's way back.
func (b *browser) keepsNothing(t *testing.T, i *issuer) {
	t.Helper()
	kept := eval[string](b, `document.documentElement.outerHTML + document.referrer`)
	history := call(b, page.GetNavigationHistory, cdp.Empty{})
	for _, entry := range history.Entries {
		kept += " " + entry.URL
	}
	for _, code := range i.given() {
		require.NotContains(t, kept, code)
	}
}

// forgive forgets what the browser was to complain of.
func (b *browser) forgive(part string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := b.faults[:0]
	for _, fault := range b.faults {
		if !strings.Contains(fault, part) {
			left = append(left, fault)
		}
	}
	b.faults = left
}
