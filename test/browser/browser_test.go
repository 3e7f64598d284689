package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
)

// browser is a Chromium with one page open. What the page complains of, and what it asks other origins for, fails the test.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string
	also string // another origin that the pages may lead to; empty: none

	mu     sync.Mutex
	faults []string
}

func open(t *testing.T, base string) *browser {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.Flag("no-sandbox", true), chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(t.TempDir()))
	ctx, stop := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx, base: base}
	require.NoError(t, chromedp.Listen(ctx, b.hear))
	call(b, network.Enable, network.EnableParams{})
	call(b, log.Enable, cdp.Empty{})
	call(b, runtime.Enable, cdp.Empty{})
	t.Cleanup(b.quiet)
	return b
}

// hear notes what must not be.
func (b *browser) hear(event any) {
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == "error" || e.Type == "warning" {
			b.fault("the console says %s %v", e.Type, e.Args)
		}
	case *runtime.EventExceptionThrown:
		b.fault("a script failed: %v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Level == "error" {
			b.fault("the browser says: %s %s", e.Entry.Text, e.Entry.URL)
		}
	case *network.EventRequestWillBeSent:
		to, err := url.Parse(e.Request.URL)
		if err != nil || to.Scheme != "data" && to.Scheme+"://"+to.Host != b.base && to.Scheme+"://"+to.Host != b.also {
			b.fault("a request to %s", e.Request.URL)
		}
	}
}

func (b *browser) fault(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf(format, args...))
}

// quiet asserts that nothing was heard so far.
func (b *browser) quiet() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		b.t.Errorf("the pages are not clean:\n%s", strings.Join(b.faults, "\n"))
	}
	b.faults = nil
}

// within gives what f gives, or fails the test when that takes too long.
func within[T any](b *browser, what string, f func() (T, error)) T {
	b.t.Helper()
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		value, err := f()
		done <- result{value, err}
	}()
	select {
	case r := <-done:
		require.NoError(b.t, r.err, what)
		return r.value
	case <-time.After(patience):
		b.t.Fatalf("the browser did not answer in %v: %s", patience, what)
		panic("not reached")
	}
}

func call[P, R any](b *browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	return within(b, command.Method, func() (R, error) { return chromedp.Call(b.ctx, command, params) })
}

func run[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	return within(b, what, func() (T, error) { return chromedp.Run(b.ctx, action) })
}

// eval is what a script gives, or what it promises.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	return run(b, script[:min(len(script), 200)], chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
}

func (b *browser) visit(path string) {
	b.t.Helper()
	run(b, "visit "+path, chromedp.Navigate(b.base+path))
}

// click presses what the XPath names, as a person does.
func (b *browser) click(xpath string) {
	b.t.Helper()
	run(b, "click "+xpath, chromedp.Click(xpath, chromedp.NodeVisible))
}

// press clicks on what leads to another page, and waits for it.
func (b *browser) press(xpath string) {
	b.t.Helper()
	within(b, "press "+xpath, func() (any, error) {
		return chromedp.RunResponse(b.ctx, chromedp.Click(xpath, chromedp.NodeVisible))
	})
}

// follow follows a link in a part of a page that may be replaced at any moment: where it stood, another one may stand by the
// time a mouse is pressed.
func (b *browser) follow(xpath string) {
	b.t.Helper()
	script := fmt.Sprintf(`new Promise((done) => { const look = () => {
		const link = document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue;
		if (!link) { setTimeout(look, 50); return }
		link.click(); done(true) }; look() })`, xpath)
	within(b, "follow "+xpath, func() (any, error) {
		return chromedp.RunResponse(b.ctx, chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
			_, err := chromedp.Evaluate[bool](script, chromedp.EvalAwaitPromise)(ctx, page)
			return err
		}))
	})
}

func (b *browser) fill(xpath, text string) {
	b.t.Helper()
	eval[bool](b, fmt.Sprintf(`document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue.value = "", true`, xpath))
	run(b, "fill "+xpath, chromedp.SendKeys(xpath, text))
}

// awaitText waits until the page says it, without another visit.
func (b *browser) awaitText(selector, text string) {
	b.t.Helper()
	last := ""
	if !harness.Poll(patience, func() bool {
		last = eval[string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map((e) => e.innerText).join(" ")`, selector))
		return strings.Contains(last, text)
	}) {
		b.t.Fatalf("%s does not say %q but %q", selector, text, last)
	}
}

func (b *browser) login(key string) {
	b.t.Helper()
	b.fill(`//input[@id="key"]`, key)
	b.press(`//form[contains(@class,"stack")]//button`)
}

func (b *browser) media(theme string, width int64) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	run(b, "resize", chromedp.EmulateViewport(width, 900))
}

// picture leaves a picture of the whole page in bin/screenshots.
func (b *browser) picture(name string) {
	b.t.Helper()
	png := run(b, "take a picture", chromedp.FullScreenshot(100))
	root, err := harness.Root()
	require.NoError(b.t, err)
	folder := filepath.Join(root, "bin", "screenshots")
	require.NoError(b.t, os.MkdirAll(folder, 0o755))
	require.NoError(b.t, os.WriteFile(filepath.Join(folder, name+".png"), png, 0o600))
}

// accessible asserts that axe-core finds nothing serious on the page, or on the parts of it that are named.
func (b *browser) accessible(name string, parts ...string) {
	b.t.Helper()
	root, err := harness.Root()
	require.NoError(b.t, err)
	axe, err := os.ReadFile(filepath.Join(root, "bin", "browser", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(b.t, err, "scripts/setup-browser.sh installs it")
	eval[bool](b, string(axe)+"; true")
	within := "document"
	if len(parts) > 0 {
		within = fmt.Sprintf("{include: [%q]}", strings.Join(parts, ","))
	}
	text := eval[string](b, `axe.run(`+within+`, {resultTypes: ["violations"]}).then((r) => JSON.stringify(r.violations.map((v) =>
		({id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.map((n) => n.html + " " + n.failureSummary)}))))`)
	var found []struct {
		ID, Impact, Help string
		Nodes            []string
	}
	require.NoError(b.t, json.Unmarshal([]byte(text), &found))
	for _, violation := range found {
		if violation.Impact == "serious" || violation.Impact == "critical" {
			b.t.Errorf("%s: %s %s: %s\n%s", name, violation.Impact, violation.ID, violation.Help, strings.Join(violation.Nodes, "\n"))
		} else {
			b.t.Logf("%s: %s %s: %s", name, violation.Impact, violation.ID, violation.Help)
		}
	}
}
