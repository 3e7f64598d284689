package api

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

// generated is a request that was made from the document.
type generated struct {
	call   *openapitest.Call
	method string
	path   string
	id     string // of the path
	query  url.Values
	raw    string // of the query, in place of it
	header http.Header
	body   []byte
	caller string // by name; empty: shows no key
	host   string // that is asked for; empty: as in the address
	how    string // what was made wrong; empty: nothing
}

// String is the request for people.
func (r *generated) String() string {
	body := string(r.body)
	if len(body) > 500 {
		body = body[:500] + "…"
	}
	return fmt.Sprintf("%s %s?%s%s %v %s (%s; by %q)", r.method, r.path, r.query.Encode(), r.raw, r.header, body, r.how, r.caller)
}

// generator makes requests from the document and from what the world has told.
type generator struct {
	maker
	world *world
	n     int
}

// weights say how often a call is made; 4 when it is not here.
func weights() map[string]int {
	return map[string]int{
		"createExecution": 22, "getExecution": 12, "listExecutions": 4, "readEvents": 10, "submitInput": 10, "cancelExecution": 4,
		"live": 1, "getMetrics": 1, "liveHead": 1, "ready": 1, "readyHead": 1, "getDocument": 1, "getReference": 1, "getReferenceStyle": 1,
		"followExecutions": 1, "steerExecutions": 3, "resumeExecution": 5, "pauseExecution": 5,
	}
}

// next makes a request. calls has each call as often as it is made.
func (g *generator) next(calls []*openapitest.Call) *generated {
	g.n++
	r := g.valid(calls[g.random.IntN(len(calls))])
	switch chance := g.random.IntN(100); {
	case chance < 62:
	case chance < 85:
		g.breakIt(r)
	case chance < 97:
		r.caller = []string{"submitter", "other submitter", "reader", "stranger"}[g.random.IntN(4)]
		r.how = "another caller"
	default:
		r.caller, r.how = "", "no key"
	}
	return r
}

// valid makes a request that fits the document.
func (g *generator) valid(call *openapitest.Call) *generated {
	r := &generated{call: call, method: call.Method, query: url.Values{}, header: http.Header{}, caller: "operator"}
	g.world.mu.Lock()
	defer g.world.mu.Unlock()
	r.id = g.idFor(call.ID)
	r.path = strings.Replace(call.Path, "{id}", r.id, 1)
	for _, p := range call.Parameters {
		g.parameter(r, p)
	}
	if body := g.schemaOf(call); body != nil {
		g.fill(r, body)
	}
	g.special(r)
	return r
}

// schemaOf is the schema of the body of a call; nil: it has none.
func (g *generator) schemaOf(call *openapitest.Call) any {
	body, _ := call.Operation["requestBody"].(map[string]any)
	if body == nil {
		return nil
	}
	return body["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
}

// idFor is an execution that the call can do something with, as a rule.
func (g *generator) idFor(call string) string {
	if g.random.IntN(10) == 0 {
		return g.world.anyID(g.random)
	}
	switch call {
	case "cancelExecution", "pauseExecution":
		if fork, ok := g.world.keyed["forkExecution"].pick(g.random); ok && g.random.IntN(10) == 0 {
			return string(fork.id)
		}
		return g.world.anyID(g.random, execution.Queued, execution.Running, execution.WaitingForInput)
	case "resumeExecution":
		return g.world.anyID(g.random, execution.Suspended)
	case "releaseExecution":
		return g.world.anyID(g.random, execution.Running, execution.WaitingForInput)
	case "deleteExecution":
		if fork, ok := g.world.keyed["forkExecution"].pick(g.random); ok && g.random.IntN(3) == 0 {
			return string(fork.id)
		}
		return g.world.anyID(g.random, execution.Completed, execution.Canceled, execution.Failed)
	case "forkExecution":
		return g.world.anyID(g.random, execution.Completed, execution.WaitingForInput)
	default:
		return g.world.anyID(g.random)
	}
}

// parameter gives the request a parameter of the call, if it is needed or by chance.
func (g *generator) parameter(r *generated, p map[string]any) {
	name, _ := p["name"].(string)
	if p["required"] != true && g.random.IntN(4) != 0 || p["in"] == "path" {
		return
	}
	value := g.value(p["schema"], 0.5)
	if example, has := p["example"]; has && g.random.IntN(3) == 0 {
		value = example
	}
	switch name {
	case "metadata":
		r.query.Set("metadata.order", fmt.Sprint(g.random.IntN(10)))
	case "Range":
		r.header.Set(name, "bytes=0-9")
	case "If-None-Match":
		r.header.Set(name, g.world.etags[r.call.Path])
	case "token":
	case "version":
		if r.query.Has("wait") {
			r.query.Set(name, fmt.Sprint(g.random.IntN(3)))
		}
	case "wait":
		r.query.Set(name, []string{"0s", "1ms", "20ms"}[g.random.IntN(3)])
	case "after", "Last-Event-ID", "from":
		g.put(r, p, name, g.random.IntN(2))
	default:
		g.put(r, p, name, value)
	}
}

// put writes a value into the query or the headers.
func (g *generator) put(r *generated, p map[string]any, name string, value any) {
	text := fmt.Sprint(value)
	if number, is := value.(float64); is {
		text = strconv.FormatFloat(number, 'f', -1, 64)
	}
	if list, is := value.([]any); is {
		words := make([]string, 0, len(list))
		for _, word := range list {
			words = append(words, fmt.Sprint(word))
		}
		text = strings.Join(words, ",")
	}
	switch {
	case text == "":
	case p["in"] == "header":
		r.header.Set(name, text)
	default:
		r.query.Set(name, text)
	}
}

// fill gives the request a body.
func (g *generator) fill(r *generated, schema any) {
	needed, _ := r.call.Operation["requestBody"].(map[string]any)["required"].(bool)
	if !needed && g.random.IntN(2) == 0 {
		return
	}
	object, _ := g.value(schema, 0.25).(map[string]any)
	g.sensible(r, object)
	g.write(r, object)
}

func (g *generator) write(r *generated, object map[string]any) {
	text, err := json.Marshal(object)
	if err != nil {
		panic(err) // it was made of what JSON has
	}
	r.body = text
	r.header.Set("Content-Type", "application/json")
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, seed)) }
