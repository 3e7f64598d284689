package api

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/test/harness"
)

var (
	requests = flag.Int("requests", 1500, "how many requests are generated")
	seed     = flag.Uint64("seed", 1, "of the requests that are generated")
)

const (
	clients       = 12
	streamTimeout = 150 * time.Millisecond // how long a stream is looked at
	leastAccepted = 0.30                   // of all generated requests
)

// runner sends requests and holds the answers against the document.
type runner struct {
	t        testing.TB
	checker  *openapitest.Checker
	url      string
	callers  map[string]caller
	client   *http.Client
	world    *world
	coverage *coverage
}

// Requests that are generated from the document are answered as the document says, and never with a fault. What chance does
// not reach is arranged at the end: every call is seen with every status that it is documented to have.
func TestGeneratedRequestsAreAnsweredAsDocumented(t *testing.T) {
	t.Parallel()
	i := install(t, strings.ReplaceAll(agentsFile, "$TOOLS", tools(t)), config.AuthKeys)
	r := &runner{
		t: t, checker: openapitest.Shared(t), url: i.url, callers: i.callers, world: newWorld(), coverage: newCoverage(),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients, DisableCompression: true}},
	}
	t.Cleanup(r.client.CloseIdleConnections)
	t.Logf("%d requests, seed %d", *requests, *seed)
	began := time.Now()
	r.begin()
	r.run(*requests)
	accepted, all := r.coverage.accepted()
	t.Logf("%d requests in %s; %.0f %% were answered with 2xx", all, time.Since(began).Round(time.Millisecond),
		100*float64(accepted)/float64(all))
	require.GreaterOrEqual(t, float64(accepted), leastAccepted*float64(all))
	r.chase()
	r.arrange(i)
	t.Log("\n" + r.coverage.table(r.checker.Calls()))
	require.Empty(t, r.coverage.missing(r.checker.Calls()), "documented and not seen")
}

// begin submits a few executions, so that there is something to ask about.
func (r *runner) begin() {
	for _, call := range r.checker.Calls() {
		if call.ID == "createExecution" {
			g := &generator{maker: maker{document: r.checker.Document, random: seeded(*seed)}, world: r.world, n: 1 << 41}
			for range 30 {
				r.send(g.valid(call), true)
				g.n++
			}
		}
	}
	r.storeResult()
}

// storeResult has an execution store a large result, and learns of it.
func (r *runner) storeResult() {
	r.t.Helper()
	calls := make(map[string]*openapitest.Call)
	for _, call := range r.checker.Calls() {
		calls[call.ID] = call
	}
	create := calls["createExecution"]
	x, err := r.exchange(&generated{
		call: create, method: create.Method, path: create.Path, caller: "operator",
		header: http.Header{"Content-Type": {"application/json"}},
		body:   []byte(`{"agent": "large", "input": {"type": "user_message", "text": "Read it."}}`),
	})
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusAccepted, x.Status, string(x.Body))
	created := x.Header.Get("Location")
	events := &generated{
		call: calls["readEvents"], method: http.MethodGet, path: created + "/events", id: path.Base(created), caller: "operator",
		header: http.Header{"Accept": {"application/json"}},
	}
	harness.Eventually(r.t, patience, "a result is stored", func() bool {
		r.send(events, true)
		r.world.mu.Lock()
		defer r.world.mu.Unlock()
		return len(r.world.blobs.kept) > 0
	})
}

// run generates n requests.
func (r *runner) run(n int) {
	var calls []*openapitest.Call
	for _, call := range sortedCalls(r.checker.Calls()) {
		weight, said := weights()[call.ID]
		if !said {
			weight = 4
		}
		for range weight {
			calls = append(calls, call)
		}
	}
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			g := &generator{maker: maker{document: r.checker.Document, random: seeded(*seed + uint64(c)<<32)}, world: r.world, n: c * n}
			for range n / clients {
				r.send(g.next(calls), true)
			}
		})
	}
	wg.Wait()
}

// send sends a request and checks the answer.
func (r *runner) send(g *generated, chance bool) (status int) {
	began := time.Now()
	x, err := r.exchange(g)
	if err != nil {
		r.t.Errorf("%s: %v", g, err)
		return 0
	}
	r.coverage.add(g, x.Status, x.Body, time.Since(began))
	if err := r.checker.Check(x); err != nil {
		r.t.Errorf("%s: %v", g, err)
	}
	if chance && (x.Status >= http.StatusInternalServerError || x.Status == http.StatusTooManyRequests) {
		r.t.Errorf("%s: answered with %d: %s", g, x.Status, x.Body)
	}
	r.world.learn(g, x.Status, x.Header, x.Body)
	return x.Status
}

func (r *runner) exchange(g *generated) (openapitest.Exchange, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	address := r.url + g.path
	if query := g.query.Encode() + g.raw; query != "" {
		address += "?" + query
	}
	var body io.Reader
	if g.body != nil {
		body = strings.NewReader(string(g.body))
	}
	request, err := http.NewRequestWithContext(ctx, g.method, address, body)
	if err != nil {
		return openapitest.Exchange{}, err
	}
	request.Header, request.Host = g.header.Clone(), g.host
	if g.caller != "" && request.Header.Get("Authorization") == "" {
		request.Header.Set("Authorization", "Bearer "+r.callers[g.caller].key)
	}
	response, err := r.client.Do(request)
	if err != nil {
		return openapitest.Exchange{}, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.Header.Get("Content-Type") == "text/event-stream" {
		defer time.AfterFunc(streamTimeout, cancel).Stop() // it has been looked at long enough
	}
	data, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, context.Canceled) {
		return openapitest.Exchange{}, err
	}
	return openapitest.Exchange{Request: request, Sent: g.body, Status: response.StatusCode, Header: response.Header, Body: data}, nil
}

// chase asks more of the calls of which a status is missing that needs no arrangement.
func (r *runner) chase() {
	const attempts = 300
	for _, call := range sortedCalls(r.checker.Calls()) {
		g := &generator{maker: maker{document: r.checker.Document, random: seeded(*seed ^ 0xc4a5e)}, world: r.world, n: 1 << 40}
		if call.ID == "forkExecution" {
			r.forkTwice(g, call)
		}
		for at := range attempts {
			missing := r.coverage.missingOf(call, arranged)
			if len(missing) == 0 {
				break
			}
			g.n++
			made := g.valid(call)
			g.aim(made, strings.TrimPrefix(missing[at%len(missing)], call.ID+" ")) // one that chance withholds holds up no other
			r.send(made, true)
		}
	}
}

// forkTwice forks with a key, deletes the fork, and sends the same again: chance seldom deletes a fork that has ended and then
// repeats its key.
func (r *runner) forkTwice(g *generator, call *openapitest.Call) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		g.n++
		made := g.valid(call)
		made.header.Set("Idempotency-Key", fmt.Sprintf("forked-twice-%d", g.n))
		forked, err := r.exchange(made)
		require.NoError(r.t, err)
		if forked.Status != http.StatusAccepted {
			continue
		}
		fork := forked.Header.Get("Location")
		steer := func(method, path string) int {
			x, err := r.exchange(&generated{method: method, path: path, header: http.Header{}, caller: made.caller})
			require.NoError(r.t, err)
			return x.Status
		}
		steer(http.MethodPost, fork+"/cancel")
		harness.Eventually(r.t, patience, "the fork's worker lets go of it, so that it can be deleted", func() bool {
			return steer(http.MethodDelete, fork) != http.StatusConflict
		})
		require.Equal(r.t, http.StatusGone, r.send(made, true))
		return
	}
	r.t.Error("no fork was accepted")
}
