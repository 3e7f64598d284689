package a2a_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend/a2a/a2atest"
)

// answerWith answers the method with the first task, and looks at tasks with the later one.
func answerWith(peer *a2atest.Peer, method string, first, later *sdk.Task) {
	peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
		switch m {
		case method:
			writeResult(w, r, first)
		case a2atest.Get:
			writeResult(w, r, later)
		default:
			return false
		}
		return true
	})
}

func writeResult(w http.ResponseWriter, r *http.Request, result any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": a2atest.ID(r), "result": result})
}

// ownID is what stands in texts of saying for the id of the request.
const ownID = `"id":"1"`

// saying answers requests of the method with a text.
func saying(method, contentType, text string) a2atest.Interceptor {
	return func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
		if m != method {
			return false
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, strings.ReplaceAll(text, ownID, `"id":`+string(a2atest.ID(r))))
		return true
	}
}
