package a2a_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/a2a/a2atest"
)

const secret = "s3cret-t0ken"

// definition is a remote agent as a file declares it.
func definition(t *testing.T, endpoint string) *agent.Definition {
	t.Helper()
	catalog, err := agent.Parse("f.yaml", []byte("agents:\n  distant:\n    backend: a2a\n    endpoint: "+endpoint+"\n"))
	require.NoError(t, err)
	d, _ := catalog.Agent("distant")
	return d
}

func lookup(url string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := map[string]string{"TOKEN": secret, "PEER": url, "EMPTY": "", "LINES": "a\nb", "QUERY": "http://a/?x=" + secret}[name]
		return value, ok
	}
}

func TestTheTokenGoesToTheRemoteAndNowhereElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ auth, header, want string }{
		"bearer":  {`{type: bearer, token: "${TOKEN}"}`, "Authorization", "Bearer " + secret},
		"api key": {`{type: api_key, header: x-agent-key, token: "${TOKEN}"}`, "X-Agent-Key", secret},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen bytes.Buffer // everything that could be stored, logged or shown
			peer := a2atest.New(t, a2atest.Completing("hi"))
			d := definition(t, `{url: "${PEER}", auth: `+c.auth+`, stream: true}`)
			e, err := a2a.EndpointOf(d, lookup(peer.URL))
			require.NoError(t, err)
			fmt.Fprintf(&seen, "%v %+v %s %s\n", e.Auth, *e.Auth, d.Canonical(), must(json.Marshal(e.Auth)))
			b := build(t, a2a.Config{Logger: slog.New(slog.NewTextHandler(&seen, &slog.HandlerOptions{Level: slog.LevelDebug}))}, e)
			fmt.Fprintf(&seen, "%v %+v %#v\n", b, b, b)
			r := newRun(t, b)
			result := r.finish(r.must("hello"))
			for _, request := range peer.Requests("") {
				require.Equal(t, c.want, request.Header.Get(c.header), request.Method)
			}
			fmt.Fprintf(&seen, "%+v %s\n", result, r.state)
			// A remote that repeats what it was told.
			echo := &sdk.Task{ID: "t", ContextID: "c", Status: sdk.TaskStatus{
				State: sdk.TaskStateFailed, Message: sdk.NewMessage(sdk.MessageRoleAgent, sdk.TextPart{Text: "bad token " + secret}),
			}}
			answerWith(peer, a2atest.Send, echo, echo)
			again := newRun(t, b)
			result = again.must("hello")
			require.Equal(t, "the remote agent failed: bad token [credentials]", *result.Status.Message)
			fmt.Fprintf(&seen, "%+v %s\n", result, *result.Status.Message)
			for _, before := range []a2atest.Interceptor{
				saying(a2atest.Send, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"`+secret+`"}}`),
				saying(a2atest.Send, "application/json", `{"jsonrpc":"2.0","id":"1","error":{"code":-32602,"message":"`+secret+`"}}`),
				a2atest.Answering(a2atest.Send, 401, -1), a2atest.Losing(a2atest.Send, 9),
			} {
				peer.Intercept(before)
				failing := newRun(t, b)
				for range 2 {
					if _, err := failing.call("hello"); err != nil {
						all(&seen, err)
					}
				}
			}
			require.NotContains(t, seen.String(), secret)
		})
	}
}

// all writes an error and everything inside it.
func all(to *bytes.Buffer, err error) {
	for ; err != nil; err = errors.Unwrap(err) {
		fmt.Fprintf(to, "%v %+v %#v\n", err, err, err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func TestTheCardLeadsNoTokenToAnotherHost(t *testing.T) {
	t.Parallel()
	other := a2atest.New(t, a2atest.Completing("stolen"))
	peer := a2atest.New(t, a2atest.Completing("hi"))
	peer.Describe(func(card *sdk.AgentCard) { card.URL = other.URL + "/rpc" })
	e, err := a2a.EndpointOf(definition(t, `{url: "${PEER}", auth: {type: bearer, token: "${TOKEN}"}}`), lookup(peer.URL))
	require.NoError(t, err)
	r := newRun(t, build(t, a2a.Config{}, e))
	_, err = r.call("hello")
	require.ErrorContains(t, err, "the agent card leads to another host")
	peer.Intercept(func(w http.ResponseWriter, request *http.Request, _ string, _ http.Handler) bool {
		http.Redirect(w, request, other.URL+request.URL.Path, http.StatusTemporaryRedirect)
		return true
	})
	_, err = r.call("hello")
	require.ErrorContains(t, err, "redirects to another host are refused")
	require.Zero(t, other.Calls(""))
}

func TestEndpointsOfDefinitions(t *testing.T) {
	t.Parallel()
	e, err := a2a.EndpointOf(definition(t, `{url: "${PEER}/x", target: a/b, timeout: 2h, requestTimeout: 5s, poll: 1s, stream: true, observe: 3s}`),
		lookup("http://a.example"))
	require.NoError(t, err)
	require.Equal(t, backend.Endpoint{
		Backend: "a2a", BaseURL: "http://a.example/x", Target: "a/b", Timeout: 2 * time.Hour,
		Options: map[string]json.RawMessage{
			"requestTimeoutMs": json.RawMessage("5000"), "pollMs": json.RawMessage("1000"),
			"stream": json.RawMessage("true"), "observeMs": json.RawMessage("3000"),
		},
	}, e)
	require.NoError(t, e.Check())

	for text, want := range map[string]string{
		`{url: "${NONE}"}`:  "endpoint.url: the environment variable NONE is not set",
		`{url: "${EMPTY}"}`: "endpoint.url: must be an absolute http or https URL",
		`{url: "${QUERY}"}`: "endpoint.url: must not have a ? part",
		`{url: "http://a", auth: {type: bearer, token: "${NONE}"}}`: "endpoint.auth.token: the environment variable NONE is not set",
	} {
		_, err := a2a.EndpointOf(definition(t, text), lookup("http://a"))
		require.EqualError(t, err, want, text)
	}
	_, err = a2a.EndpointOf(&agent.Definition{Name: "near", Backend: agent.BackendLocal}, lookup("http://a"))
	require.EqualError(t, err, `agent "near" is not remote`)
}

func TestEndpointsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	factory, err := a2a.NewFactory(a2a.Config{})
	require.NoError(t, err)
	require.Equal(t, "a2a", factory.Backend())
	auth := func(kind string, params map[string]string) *backend.EndpointAuth {
		raw := map[string]json.RawMessage{}
		for key, value := range params {
			raw[key] = json.RawMessage(value)
		}
		return &backend.EndpointAuth{Type: kind, Params: raw}
	}
	for want, change := range map[string]func(*backend.Endpoint){
		"endpoint: baseUrl is missing":                                         func(e *backend.Endpoint) { e.BaseURL = "" },
		"endpoint: baseUrl must not have a ? part":                             func(e *backend.Endpoint) { e.BaseURL += "?a=b" },
		"endpoint: baseUrl must not have a # part":                             func(e *backend.Endpoint) { e.BaseURL += "#a" },
		"endpoint: timeoutMs must be above 0, not 0":                           func(e *backend.Endpoint) { e.Timeout = 0 },
		"endpoint: auth.type must be bearer or api_key":                        func(e *backend.Endpoint) { e.Auth = auth("basic", nil) },
		"endpoint: auth.token is missing":                                      func(e *backend.Endpoint) { e.Auth = auth("bearer", map[string]string{"token": `" "`}) },
		"endpoint: auth.token must be text":                                    func(e *backend.Endpoint) { e.Auth = auth("bearer", map[string]string{"token": `1`}) },
		"endpoint: auth.token must not hold line breaks or control characters": func(e *backend.Endpoint) { e.Auth = auth("bearer", map[string]string{"token": `"a\nb"`}) },
		"endpoint: auth.header is missing":                                     func(e *backend.Endpoint) { e.Auth = auth("api_key", map[string]string{"token": `"a"`}) },
		"endpoint: options: pollMs is out of range":                            func(e *backend.Endpoint) { e.Options["pollMs"] = json.RawMessage("-1") },
		`endpoint: options: json: unknown field "color"`:                       func(e *backend.Endpoint) { e.Options["color"] = json.RawMessage("1") },
	} {
		e := endpoint("http://a.example", nil)
		change(&e)
		var wrong *backend.ConfigError
		require.ErrorAs(t, factory.Validate(e), &wrong, want)
		require.EqualError(t, factory.Validate(e), want)
		_, err := factory.Build(e)
		require.EqualError(t, err, want)
	}
	require.NoError(t, factory.Validate(endpoint("http://a.example", nil)))
	_, err = a2a.NewFactory(a2a.Config{MaxAnswer: -1})
	require.ErrorContains(t, err, "a bound is negative")
}

func TestCapabilitiesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	b := build(t, a2a.Config{}, endpoint("http://a.example", nil))
	require.NoError(t, b.Capabilities().Validate())
	require.Equal(t, backend.Capabilities{
		Cancellation: backend.CancelRemoteAbort, Continuation: backend.ContinuationRemote, Waits: backend.WaitsInputAndAuth,
		Transcript: backend.TranscriptIncremental, Output: backend.OutputTextAndArtifacts,
	}, b.Capabilities())
}
