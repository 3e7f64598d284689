package a2a

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Where the face is.
const (
	PathRoot = "/a2a"
	PathCard = "/.well-known/agent-card.json"
)

// Public reports whether everybody may have the path: a card is how others learn of an agent, and what it takes to come in.
func (f *Face) Public(path string) bool { return strings.HasSuffix(path, PathCard) }

// ServeHTTP answers a request whose body is bounded and whose context carries the visit. What is not there is left to Find.
func (f *Face) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	definition, card, err := f.find(r.URL.Path)
	switch {
	case err != nil:
		http.Error(w, "not found", http.StatusNotFound) // Find comes first
	case card:
		f.serveCard(w, definition)
	default:
		f.rpc(w, r, definition)
	}
}

// Find refuses a request for what is not there. The error is an *execution.APIError.
func (f *Face) Find(r *http.Request) error {
	_, card, err := f.find(r.URL.Path)
	switch {
	case err != nil:
		return err
	case card && r.Method != http.MethodGet && r.Method != http.MethodHead,
		!card && r.Method != http.MethodPost:
		return execution.NewAPIError(execution.MethodNotAllowed, "%s is not allowed here", r.Method).In("method")
	default:
		return nil
	}
}

func (f *Face) find(path string) (definition *agent.Definition, card bool, err error) {
	known := false
	if path == PathCard {
		definition, known = f.root()
		card = true
	} else if rest, under := strings.CutPrefix(path, PathRoot+"/"); under {
		var name string
		name, card = strings.CutSuffix(rest, PathCard)
		definition, known = f.published(strings.TrimSuffix(name, "/"))
	}
	switch {
	case !known && path == PathCard:
		return nil, card, execution.NewAPIError(execution.NotFound, "the cards of published agents are at "+PathRoot+"/{agent}"+PathCard+
			"; this path has one when a single agent is published, or PAWL_A2A_AGENT names it").In("path")
	case !known:
		return nil, card, execution.NewAPIError(execution.NotFound, "no agent is published at this path").In("path")
	}
	return definition, card, nil
}

func (f *Face) serveCard(w http.ResponseWriter, definition *agent.Definition) {
	data, err := json.Marshal(f.card(definition))
	if err != nil {
		http.Error(w, "the card cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", contentJSON)
	w.Header().Set("Cache-Control", "no-cache") // agents change with their file
	_, _ = w.Write(data)                        // a client that has gone needs no answer
}
