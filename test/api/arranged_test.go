package api

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// arranged reports whether a status of a call is seen only when something is done about it.
func arranged(call *openapitest.Call, status string) bool {
	switch status {
	case "429", "500", "503":
		return true
	case "403": // every role may list
		return call.Role() == "" && call.ID != "getMetrics" || call.Role() == "read" && !strings.Contains(call.Path, "{id}")
	case "409":
		return call.ID == "cancelExecution"
	default:
		return false
	}
}

// arrange makes happen what no request alone can: a full installation, too many wrong keys, faults, a Redis that is gone.
func (r *runner) arrange(i *installation) {
	r.t.Helper()
	r.fromElsewhere()
	r.faults()
	i.stop()
	stop := i.apiAlone(r.t, 0)
	r.url = i.url
	kept := r.finalizing(i)
	stop()
	stop = i.apiAlone(r.t, 1)
	r.url = i.url
	r.full(kept)
	r.tooManyWrongKeys()
	i.redis.Kill()
	r.each("503", func(g *generated) {
		if g.call.ID == "listAgents" { // which needs no Redis itself
			g.header.Set("Authorization", "Bearer pawl_abcdefghijkl_neverseen")
		}
	})
	stop()
}

// plain is a request of the call that fits the document, by the operator.
func (r *runner) plain(call *openapitest.Call) *generated {
	g := &generator{maker: maker{document: r.checker.Document, random: seeded(uint64(len(call.ID)))}, world: r.world, n: 1 << 42}
	for {
		made := g.valid(call)
		made.header.Del("If-None-Match")
		if schema := g.schemaOf(call); made.caller != "" && (schema == nil || made.body != nil) {
			return made
		}
	}
}

// each makes every call that is documented to answer with the status, after the request was changed.
func (r *runner) each(status string, change func(*generated)) {
	r.t.Helper()
	var wg sync.WaitGroup
	for _, call := range sortedCalls(r.checker.Calls()) {
		if !slices.Contains(call.Statuses(), status) {
			continue
		}
		g := r.plain(call)
		g.how = "to be answered with " + status
		change(g)
		wg.Go(func() { r.send(g, false) })
	}
	wg.Wait()
}

// fromElsewhere asks an API without keys by a name that is not loopback.
func (r *runner) fromElsewhere() {
	r.besides(httpapi.Config{Link: broken{}, Metrics: http.NotFoundHandler()}, func() {
		r.each("403", func(g *generated) { g.host = "pawl.example.com" })
	})
}

// broken is a runtime with a fault.
type broken struct{}

func (broken) As(execution.Authority) link.RuntimeLink { panic("a fault") }

func (r *runner) faults() {
	r.besides(httpapi.Config{Link: broken{}}, func() { r.each("500", func(*generated) {}) })
}

// besides asks another server for a while.
func (r *runner) besides(cfg httpapi.Config, do func()) {
	r.t.Helper()
	cfg.Logger = quiet()
	server, err := httpapi.New(cfg)
	require.NoError(r.t, err)
	other := httptest.NewServer(server)
	defer other.Close()
	defer server.Drain()
	url := r.url
	defer func() { r.url = url }()
	r.url = other.URL
	do()
}

// finalizing cancels an execution that is being cleaned up after. No agent of this test has anything to clean up, so a worker
// of the test's own says that it has. The execution stays: no other request knows it.
func (r *runner) finalizing(i *installation) execution.ID {
	r.t.Helper()
	store, err := redisjournal.New(i.redis.Client(r.t), redisjournal.Config{Logger: quiet()})
	require.NoError(r.t, err)
	defer func() { require.NoError(r.t, store.Close()) }()
	submission := r.plain(r.call("createExecution"))
	submission.body, submission.header = []byte(`{"agent":"quick","input":{"type":"user_message","text":"hello"}}`), http.Header{}
	submission.header.Set("Content-Type", "application/json")
	x, err := r.exchange(submission)
	require.NoError(r.t, err)
	var view execution.View
	decode(r.t, x.Body, &view)
	linktest.Claim(r.t, store, view.ID).Finalize()
	g := r.plain(r.call("cancelExecution"))
	g.id, g.path = string(view.ID), "/v1/executions/"+string(view.ID)+"/cancel"
	require.Equal(r.t, http.StatusConflict, r.send(g, false))
	return view.ID
}

func (r *runner) call(id string) *openapitest.Call {
	calls := r.checker.Calls()
	return calls[slices.IndexFunc(calls, func(c *openapitest.Call) bool { return c.ID == id })]
}

// full submits to an installation that has all the executions it may have. What is forked has to be there still: any other
// execution may have been deleted, or have been kept for as long as it asked for.
func (r *runner) full(kept execution.ID) {
	r.t.Helper()
	for _, id := range []string{"createExecution", "forkExecution"} {
		g := r.plain(r.call(id))
		g.header.Del("Idempotency-Key")
		if id == "forkExecution" {
			g.id, g.path, g.body = string(kept), "/v1/executions/"+string(kept)+"/fork", []byte(`{"step":0}`)
		}
		require.Equal(r.t, http.StatusTooManyRequests, r.send(g, false), g.String())
	}
}

func (r *runner) tooManyWrongKeys() {
	const more = 30 // than an address may have
	wrong := func(g *generated) { g.header.Set("Authorization", "Bearer pawl_abcdefghijkl_wrong") }
	for range more {
		g := r.plain(r.call("listAgents"))
		wrong(g)
		r.send(g, false)
	}
	r.each("429", wrong)
}
