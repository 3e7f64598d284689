package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// breakIt makes something about a request wrong.
func (g *generator) breakIt(r *generated) {
	schema := g.schemaOf(r.call)
	if schema != nil && r.body != nil && g.random.IntN(2) == 0 {
		var body map[string]any
		if json.Unmarshal(r.body, &body) == nil && body != nil {
			r.how = g.spoil(schema, body)
			g.write(r, body)
			return
		}
	}
	if schema != nil && g.random.IntN(2) == 0 {
		g.breakBody(r)
		return
	}
	switch g.random.IntN(5) {
	case 0:
		r.how = "another Accept"
		r.header.Set("Accept", "text/csv")
	case 1:
		r.how = "another method"
		r.method = []string{http.MethodPut, http.MethodPatch, http.MethodTrace}[g.random.IntN(3)]
	case 2:
		g.breakPath(r)
	case 3:
		g.breakHeaders(r)
	default:
		g.breakQuery(r)
	}
}

func (g *generator) breakBody(r *generated) {
	r.header.Set("Content-Type", "application/json")
	switch g.random.IntN(10) {
	case 0, 9:
		r.how, r.body = "a body too large", []byte(`{"agent": "`+strings.Repeat("x", 1<<20)+`"}`)
	case 1:
		r.how, r.body = "half a body", []byte(`{"agent": "qu`)
	case 2:
		r.how, r.body = "an array", []byte(`[1]`)
	case 3:
		r.how, r.body = "no UTF-8", []byte("{\"agent\": \"\xff\"}")
	case 4:
		r.how, r.body = "a member twice", twice(r.body)
	case 5:
		r.how, r.body = "two values", append(append([]byte{}, r.body...), `{} {}`...)
	case 6:
		r.how, r.body = "deep nesting", []byte(strings.Repeat("[", 20_000))
	case 7:
		r.how = "another Content-Type"
		r.header.Set("Content-Type", "text/plain")
		if r.body == nil {
			r.body = []byte("{}")
		}
	default:
		r.how = "an encoded body"
		r.header.Set("Content-Encoding", "gzip")
		if r.body == nil {
			r.body = []byte("{}")
		}
	}
}

func (g *generator) breakPath(r *generated) {
	if r.id == "" {
		r.how, r.path = "another path", "/v2"+r.path
		return
	}
	if g.random.IntN(2) == 0 {
		r.how = "an unknown id"
		r.path = strings.Replace(r.path, r.id, string(execution.NewID(execution.Partition(g.random.IntN(64)))), 1)
		return
	}
	r.how = "an id that is none"
	r.path = strings.Replace(r.path, r.id, []string{"exec_1", "x", "EXEC", r.id + "0", "%00", "%2f"}[g.random.IntN(6)], 1)
}

func (g *generator) breakHeaders(r *generated) {
	var names []string
	for _, p := range r.call.Parameters {
		if p["in"] == "header" {
			names = append(names, p["name"].(string))
		}
	}
	if len(names) == 0 {
		r.how, r.caller = "no key", ""
		return
	}
	name := names[g.random.IntN(len(names))]
	r.how = "another " + name
	switch name {
	case "Idempotency-Key":
		r.header.Set(name, []string{"", strings.Repeat("k", 257), "a\tb"}[g.random.IntN(3)])
	case "Range":
		r.header.Set(name, []string{"bytes=90000000-", "lines=1-2", "bytes=x", "bytes=0-1,3-4", "bytes=-0"}[g.random.IntN(5)])
		r.header.Del("If-None-Match")
	default:
		r.header.Set(name, "x")
	}
}

func (g *generator) breakQuery(r *generated) {
	var names []string
	for _, p := range r.call.Parameters {
		if p["in"] == "query" && p["name"] != "metadata" && p["name"] != "agent" {
			names = append(names, p["name"].(string))
		}
	}
	switch at := g.random.IntN(4); {
	case at == 0 && len(names) > 0:
		name := names[g.random.IntN(len(names))]
		r.how = "another " + name
		r.query.Set(name, []string{"", "-1", "x y", "1e3", "99999999999999999999999"}[g.random.IntN(5)])
	case at == 1 && len(names) > 0:
		name := names[g.random.IntN(len(names))]
		r.how = name + " twice"
		r.query[name] = []string{"1", "1"}
	case at == 2:
		r.how, r.raw = "a query that cannot be decoded", "a=%zz"
		r.query = nil
	default:
		r.how = "an unknown parameter"
		r.query.Set(fmt.Sprintf("weather%d", g.random.IntN(3)), "1")
	}
}

// aim makes something about a request wrong for which the status is the answer; for others it leaves the request to chance.
func (g *generator) aim(r *generated, status string) {
	r.how = "to be answered with " + status
	if g.schemaOf(r.call) != nil && r.body == nil {
		r.body = []byte("{}")
		r.header.Set("Content-Type", "application/json")
	}
	switch status {
	case "400":
		r.query = url.Values{"weather": {"1"}}
	case "401":
		r.caller, r.query = "", url.Values{}
	case "403":
		r.caller = []string{"submitter", "reader"}[g.random.IntN(2)]
	case "404":
		r.path = strings.Replace(r.path, r.id, string(execution.NewID(1)), 1)
	case "406":
		r.header.Set("Accept", "text/csv")
	case "413":
		r.body = []byte(`{"agent": "` + strings.Repeat("x", 1<<20) + `"}`)
	case "415":
		r.header.Set("Content-Type", "text/plain")
	}
}
