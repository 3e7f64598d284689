package api

import (
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// maxKept bounds each pool of the world.
const maxKept = 300

// pool keeps the newest of what was seen.
type pool[T any] struct{ kept []T }

func (p *pool[T]) add(value T) {
	if p.kept = append(p.kept, value); len(p.kept) > maxKept {
		p.kept = p.kept[len(p.kept)-maxKept:]
	}
}

// pick prefers new ones.
func (p *pool[T]) pick(random *rand.Rand) (value T, ok bool) {
	if len(p.kept) == 0 {
		return value, false
	}
	at := len(p.kept) - 1 - int(float64(len(p.kept))*random.Float64()*random.Float64())
	return p.kept[max(at, 0)], true
}

// sent is a request that can be repeated.
type sent struct {
	path, key string
	body      []byte
	id        execution.ID
}

// world is what answers have told, for the requests to come: what one caller, the operator, may see.
type world struct {
	mu      sync.Mutex
	all     pool[execution.ID]
	byState map[execution.State]*pool[execution.ID]
	asking  pool[execution.View] // their question was open
	ended   pool[[2]string]      // id and last sequence of logs read to their end
	blobs   pool[[2]string]      // id and hash
	forks   pool[forkable]
	cursors pool[url.Values]
	tokens  pool[[2]string] // id and stream token
	inputs  pool[sent]
	keyed   map[string]*pool[sent] // by call
	gone    map[string]*pool[sent] // their execution was deleted
	etags   map[string]string
}

type forkable struct {
	id   execution.ID
	step execution.Step
}

func newWorld() *world {
	w := &world{byState: map[execution.State]*pool[execution.ID]{}, etags: map[string]string{}}
	w.keyed = map[string]*pool[sent]{"createExecution": {}, "forkExecution": {}}
	w.gone = map[string]*pool[sent]{"createExecution": {}, "forkExecution": {}}
	for _, state := range execution.States() {
		w.byState[state] = &pool[execution.ID]{}
	}
	return w
}

// learn takes what an answer of the operator tells.
func (w *world) learn(r *generated, status int, header http.Header, body []byte) {
	if r.caller != "operator" && r.caller != "" || status >= http.StatusBadRequest {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if tag := header.Get("ETag"); tag != "" && r.call.Role() == "" {
		w.etags[r.call.Path] = tag
	}
	switch r.call.ID {
	case "createExecution", "forkExecution", "getExecution", "submitInput", "cancelExecution", "pauseExecution", "resumeExecution":
		w.learnView(r, body)
	case "listExecutions":
		var page execution.ListPage
		if json.Unmarshal(body, &page) == nil && page.NextCursor != "" {
			query := url.Values{}
			for name, values := range r.query {
				query[name] = values
			}
			query.Set("cursor", page.NextCursor)
			w.cursors.add(query)
		}
	case "listCheckpoints":
		var page execution.CheckpointPage
		if json.Unmarshal(body, &page) == nil {
			for _, c := range page.Checkpoints {
				if c.Forkable {
					w.forks.add(forkable{execution.ID(r.id), c.Step})
				}
			}
		}
	case "readEvents":
		w.learnEvents(r, header, body)
	case "createStreamToken":
		var token execution.StreamToken
		if json.Unmarshal(body, &token) == nil {
			w.tokens.add([2]string{r.id, token.Token})
		}
	case "deleteExecution":
		for call, pool := range w.keyed {
			for _, s := range pool.kept {
				if string(s.id) == r.id {
					w.gone[call].add(s)
				}
			}
		}
	}
}

func (w *world) learnView(r *generated, body []byte) {
	var view execution.View
	if json.Unmarshal(body, &view) != nil {
		return
	}
	if r.call.ID == "createExecution" || r.call.ID == "forkExecution" {
		w.all.add(view.ID)
		if key := r.header.Get("Idempotency-Key"); key != "" {
			w.keyed[r.call.ID].add(sent{path: r.path, key: key, body: r.body, id: view.ID})
		}
	}
	if r.call.ID == "submitInput" {
		w.inputs.add(sent{path: r.path, body: r.body, id: view.ID})
	}
	w.byState[view.State].add(view.ID)
	if view.Interaction != nil {
		w.asking.add(view)
	}
}

func (w *world) learnEvents(r *generated, header http.Header, body []byte) {
	if !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
		return
	}
	var page execution.EventPage
	if json.Unmarshal(body, &page) != nil || len(page.Events) == 0 {
		return
	}
	for _, event := range page.Events {
		if completed, is := event.Payload.(*execution.ToolCompleted); is && completed.Blob != nil {
			w.blobs.add([2]string{r.id, completed.Blob.Hash})
		}
	}
	last := page.Events[len(page.Events)-1]
	if last.Payload.EventType().Terminal() {
		text, _ := json.Marshal(last.Sequence)
		w.ended.add([2]string{r.id, string(text)})
	}
}

// anyID is one in any of the states; of any state when there is none, or when no state is named.
func (w *world) anyID(random *rand.Rand, states ...execution.State) string {
	for range states {
		state := states[random.IntN(len(states))]
		if id, ok := w.byState[state].pick(random); ok {
			return string(id)
		}
	}
	id, _ := w.all.pick(random)
	return string(id)
}
