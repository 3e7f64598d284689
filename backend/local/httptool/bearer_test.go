package httptool_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// door is a server that takes some tokens only, and repeats what it was sent to those whom it does not take.
type door struct {
	mu    sync.Mutex
	seen  []string // guarded by mu
	keys  []string // guarded by mu; Idempotency-Key of each
	takes []string
}

func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	token := r.Header.Get("Authorization")
	d.seen, d.keys = append(d.seen, token), append(d.keys, r.Header.Get("Idempotency-Key"))
	if !slices.Contains(d.takes, token) {
		http.Error(w, "no entry for "+token, http.StatusUnauthorized)
		return
	}
	_, _ = w.Write([]byte(`{"state":"done","result":"in"}`)) // the test reads it
}

func TestATokenThatIsRefusedIsReplacedOnceAndTheCallSentAgain(t *testing.T) {
	t.Parallel()
	lost := &local.Error{Kind: local.Permanent, Code: "delegation_lost", Message: "the delegation has ended"}
	away := &local.Error{Kind: local.Transient, Code: "delegation_unavailable", Message: "the broker is away"}
	for name, c := range map[string]struct {
		takes, next string
		err         error
		seen        []string
		says        string // of the error result; empty: it is carried out, or there is an error
	}{
		"another one":               {"Bearer two", "two", nil, []string{"Bearer one", "Bearer two"}, ""},
		"another one, refused too":  {"", "two", nil, []string{"Bearer one", "Bearer two"}, "does not take the caller's token: it answered 401"},
		"no other one":              {"", "one", nil, []string{"Bearer one"}, "does not take the caller's token: it answered 401"},
		"there will be none":        {"", "", lost, []string{"Bearer one"}, "the delegation has ended"},
		"there may be one later on": {"", "", away, []string{"Bearer one"}, ""},
	} {
		for _, recovery := range recoveries {
			t.Run(name+" "+string(recovery), func(t *testing.T) {
				t.Parallel()
				d := &door{takes: []string{c.takes}}
				server := httptest.NewServer(d)
				t.Cleanup(server.Close)
				tool := newTool(t, agent.Tool{URL: server.URL, Recovery: recovery, Auth: agent.AuthDelegation, Probe: &agent.Probe{URL: server.URL}})
				call := invocation()
				call.Credential = execution.NewCredential("one")
				call.Bearer = func(_ context.Context, refused execution.Credential) (execution.Credential, error) {
					require.Equal(t, "one", refused.Reveal())
					return execution.NewCredential(c.next), c.err
				}
				answer, err := tool.Call(t.Context(), call, nil)
				require.Equal(t, c.seen, d.seen)
				require.Equal(t, d.keys[0], d.keys[len(d.keys)-1])
				switch {
				case errors.Is(c.err, away):
					require.ErrorIs(t, err, away)
				case c.says != "":
					require.NoError(t, err)
					require.True(t, answer.Result.IsError)
					require.Contains(t, string(answer.Result.Content), "the server of the tool lookup")
					require.Contains(t, string(answer.Result.Content), c.says)
					require.NotContains(t, string(answer.Result.Content), "Bearer")
				default:
					require.NoError(t, err)
					require.False(t, answer.Result.IsError)
					probed, err := tool.(local.Prober).Probe(t.Context(), call)
					require.NoError(t, err)
					require.Equal(t, local.ProbeDone, probed.State)
				}
			})
		}
	}
}
