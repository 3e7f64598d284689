package a2a_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/backend/local"
)

func TestTheCardIsFoundBelowTheTargetAndInItsOlderPlace(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing("hi"))
	var paths []string
	var mu sync.Mutex
	peer.Intercept(func(w http.ResponseWriter, r *http.Request, m string, _ http.Handler) bool {
		if m != a2atest.Card {
			return false
		}
		mu.Lock()
		paths = append(paths, r.URL.Path)
		mu.Unlock()
		if strings.HasSuffix(r.URL.Path, "/agent.json") {
			_, _ = fmt.Fprintf(w, `{"name":"old","url":"http://%s/rpc"}`, r.Host)
			return true
		}
		http.NotFound(w, r)
		return true
	})
	e := endpoint(peer.URL+"/a2a/", nil)
	e.Target = "teams/research"
	r := newRun(t, build(t, a2a.Config{}, e))
	require.Equal(t, "hi", *r.finish(r.must("hello")).Output.Text)
	require.Equal(t, []string{
		"/a2a/teams/research/.well-known/agent-card.json", "/a2a/teams/research/.well-known/agent.json",
	}, paths)
	require.Equal(t, "0.3", r.handle()["protocol"], "a card without a version is one of those that had none")
}

func TestCardsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		card, code, message string
	}{
		"no JSON":      {`<html>`, a2a.CodeMalformed, "the agent card cannot be read"},
		"nothing":      {`{}`, a2a.CodeVersion, "the agent speaks nothing that its card names; Pawl speaks A2A 0.3 by JSONRPC"},
		"gRPC alone":   {`{"url":"HOST/grpc","preferredTransport":"GRPC","protocolVersion":"0.3.0"}`, a2a.CodeVersion, "the agent speaks GRPC 0.3.0; Pawl speaks"},
		"REST alone":   {`{"url":"HOST/v1","preferredTransport":"HTTP+JSON","protocolVersion":"0.3.0"}`, a2a.CodeVersion, "the agent speaks HTTP+JSON 0.3.0; Pawl speaks"},
		"1.0 alone":    {`{"supportedInterfaces":[{"url":"HOST/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`, a2a.CodeVersion, "the agent speaks JSONRPC 1.0; Pawl speaks"},
		"another host": {`{"url":"http://other.example/rpc","protocolVersion":"0.3.0"}`, a2a.CodeRefused, "the agent card leads to another host, http://other.example: name that one in endpoint.url"},
		"another port": {`{"url":"http://127.0.0.1:1/rpc","protocolVersion":"0.3.0"}`, a2a.CodeRefused, "the agent card leads to another host, http://127.0.0.1:1"},
		"no port":      {`{"url":"http://0.0.0.0/rpc","protocolVersion":"0.3.0"}`, a2a.CodeRefused, "the agent card leads to another host, http://0.0.0.0"},
		"no URL":       {`{"url":"rpc","protocolVersion":"0.3.0"}`, a2a.CodeMalformed, "the agent card names an address that is none"},
		"a user":       {`{"url":"http://u:p@HOSTNAME/rpc","protocolVersion":"0.3.0"}`, a2a.CodeMalformed, "the agent card names an address that is none"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			card := strings.ReplaceAll(strings.ReplaceAll(c.card, "HOSTNAME", strings.TrimPrefix(peer.URL, "http://")), "HOST", peer.URL)
			peer.Intercept(saying(a2atest.Card, "application/json", card))
			_, err := r.call("hello")
			require.Contains(t, classified(t, err, local.Permanent, c.code).Message, c.message)
			require.Zero(t, peer.Calls(a2atest.Send))
		})
	}
}

func TestTheCardsPreferenceAmongWhatIsSpoken(t *testing.T) {
	t.Parallel()
	for name, card := range map[string]string{
		"the first":    `{"url":"HOST/rpc","preferredTransport":"JSONRPC","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"HOST/no","transport":"JSONRPC"}]}`,
		"another one":  `{"url":"HOST/grpc","preferredTransport":"GRPC","protocolVersion":"0.3.0","additionalInterfaces":[{"url":"HOST/rest","transport":"HTTP+JSON"},{"url":"HOST/rpc","transport":"JSONRPC"}]}`,
		"0.3 in a 1.0": `{"supportedInterfaces":[{"url":"HOST/v1","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"HOST/rpc","protocolBinding":"JSONRPC","protocolVersion":"0.3"}]}`,
		"0.2":          `{"url":"HOST/rpc","protocolVersion":"0.2.6"}`,
		"claims 1.0":   `{"url":"HOST/rpc","protocolVersion":"1.0"}`,
		"no host":      `{"url":"http://0.0.0.0:PORT/rpc","protocolVersion":"0.3.0"}`,
		"loopback":     `{"url":"http://localhost:PORT/rpc","protocolVersion":"0.3.0"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, peer := remote(t, a2atest.Completing("hi"))
			port := peer.URL[strings.LastIndex(peer.URL, ":")+1:]
			card := strings.NewReplacer("HOST", peer.URL, "PORT", port).Replace(card)
			peer.Intercept(saying(a2atest.Card, "application/json", card))
			require.Equal(t, "hi", *r.finish(r.must("hello")).Output.Text)
		})
	}
}

func TestThereIsNoAgentWithoutACard(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	peer.Intercept(a2atest.Answering(a2atest.Card, 404, -1))
	_, err := r.call("hello")
	require.Equal(t, "there is no agent card at /.well-known/agent-card.json nor at /.well-known/agent.json of the endpoint",
		classified(t, err, local.Permanent, a2a.CodeNoCard).Message)
	peer.Intercept(a2atest.Answering(a2atest.Card, 500, -1))
	_, err = r.call("hello")
	classified(t, err, local.Transient, a2a.CodeFailed)
	peer.Intercept(nil)
	require.NotEmpty(t, r.must("hello"), "a failure is not kept")
}

func TestACardHoldsForAWhile(t *testing.T) {
	t.Parallel()
	clock := &clock{}
	clock.set(time.Now())
	done := make(chan struct{})
	defer close(done)
	peer := a2atest.New(t, a2atest.Until(done, "never"))
	e := endpoint(peer.URL, nil)
	e.Timeout = 1000 * time.Hour
	r := newRun(t, build(t, a2a.Config{Now: clock.now, CardTTL: time.Minute}, e))
	r.must("work")
	r.must()
	require.Equal(t, 1, peer.Calls(a2atest.Card))
	clock.set(clock.now().Add(61 * time.Second))
	r.must()
	require.Equal(t, 2, peer.Calls(a2atest.Card))

	// An old card holds on when no new one is to be had, and is not asked for at every look.
	peer.Intercept(a2atest.Answering(a2atest.Card, 503, -1))
	clock.set(clock.now().Add(61 * time.Second))
	r.must()
	r.must()
	require.Equal(t, 3, peer.Calls(a2atest.Card))
	clock.set(clock.now().Add(31 * time.Second))
	r.must()
	require.Equal(t, 4, peer.Calls(a2atest.Card))

	// A card that says that the agent is not there any more counts.
	peer.Intercept(a2atest.Answering(a2atest.Card, 404, -1))
	clock.set(clock.now().Add(31 * time.Second))
	_, err := r.call()
	classified(t, err, local.Permanent, a2a.CodeNoCard)
}

func TestManyCallsAtOnceReadTheCardOnce(t *testing.T) {
	t.Parallel()
	peer := a2atest.New(t, a2atest.Completing("hi"))
	b := build(t, a2a.Config{}, endpoint(peer.URL, nil))
	var wg sync.WaitGroup
	for range 20 {
		r := newRun(t, b)
		request := r.request("hello")
		wg.Go(func() {
			_, _ = b.ExecuteRoot(t.Context(), request)
		})
	}
	wg.Wait()
	require.Equal(t, 1, peer.Calls(a2atest.Card))
	require.Equal(t, 20, peer.Tasks())
}

func TestRequestsSayWhichProtocolTheySpeak(t *testing.T) {
	t.Parallel()
	r, peer := remote(t, a2atest.Completing("hi"))
	peer.Describe(func(card *sdk.AgentCard) { card.PreferredTransport = "" })
	r.finish(r.must("hello"))
	require.NotEmpty(t, peer.Requests(""))
	for _, request := range peer.Requests("") {
		require.Equal(t, "0.3", request.Header.Get("A2A-Version"), request.Method)
		require.Equal(t, "pawl", request.Header.Get("User-Agent"))
	}
}
