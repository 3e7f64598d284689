package a2a_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/a2a"
)

// revocable is an access whose one credential lets streams stay for a moment, and is good until good is closed.
type revocable struct {
	good chan struct{}
	*auth.Gate
}

func (r *revocable) Admit(*http.Request) error { return nil }

func (r *revocable) Enter(*http.Request) (*auth.Visit, error) {
	select {
	case <-r.good:
		return nil, execution.NewAPIError(execution.Unauthenticated, "revoked")
	default:
		return &auth.Visit{Authority: execution.LocalAuthority(), Until: time.Now().Add(500 * time.Millisecond)}, nil
	}
}

func (r *revocable) Stream(*http.Request, string, execution.ID) (*auth.Visit, error) {
	return nil, http.ErrNoCookie
}

func (r *revocable) StreamToken(context.Context, *auth.Visit, execution.ID) (execution.StreamToken, error) {
	return execution.StreamToken{}, http.ErrNoCookie
}

// byName takes "Bearer tenant/subject/role" for a credential.
func byName(c *httpapi.Config) {
	c.Authenticate = func(r *http.Request) (execution.Authority, error) {
		credential, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		parts := strings.Split(credential, "/")
		if !is || len(parts) != 3 {
			return execution.Authority{}, execution.NewAPIError(execution.Unauthenticated, "a bearer key is needed")
		}
		return execution.Authority{
			Caller: execution.CallerScope{Tenant: parts[0], Subject: parts[1]}, Role: execution.CallerRole(parts[2]),
		}, nil
	}
}

func TestWhatACallerMayNotSeeIsNotThere(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{http: byName})
	as := func(who string) string { return "Authorization: Bearer " + who }
	owner := p.client("demo", as("one/ann/submit"))
	task := send(t, owner, message("m1", "hello"))
	require.Equal(t, task.ID, get(t, owner, task).ID)
	require.Equal(t, task.ID, get(t, p.client("demo", as("one/rita/read")), task).ID)

	stranger, elsewhere := p.client("demo", as("two/ann/operate")), p.client("priced", as("one/ann/submit"))
	for _, c := range []interface {
		GetTask(ctx context.Context, query *sdk.TaskQueryParams) (*sdk.Task, error)
	}{stranger, elsewhere} {
		_, err := c.GetTask(bounded(t), &sdk.TaskQueryParams{ID: task.ID})
		require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	}
	_, err := stranger.CancelTask(bounded(t), &sdk.TaskIDParams{ID: task.ID})
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	_, err = trySend(t, stranger, to(task, message("m2", "yes")))
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	require.ErrorIs(t, <-resubscribe(t, stranger, task.ID).failed, sdk.ErrTaskNotFound)
	_, err = stranger.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: sdk.PushConfig{URL: "https://example.com"}})
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	_, err = stranger.ListTaskPushConfig(bounded(t), &sdk.ListTaskPushConfigParams{TaskID: task.ID})
	require.ErrorIs(t, err, sdk.ErrTaskNotFound)
	require.NotEqual(t, task.ID, send(t, stranger, message("m1", "hello")).ID, "message ids are each caller's own")

	reader := p.client("demo", as("one/rita/read"))
	for name, call := range map[string]func() error{
		"send":   func() error { _, err := trySend(t, reader, message("m3", "hello")); return err },
		"cancel": func() error { _, err := reader.CancelTask(bounded(t), &sdk.TaskIDParams{ID: task.ID}); return err },
		"push": func() error {
			_, err := reader.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: sdk.PushConfig{URL: "https://example.com"}})
			return err
		},
	} {
		require.ErrorContains(t, call(), "403 Forbidden", name)
	}
	response, _ := p.rpc("/a2a/demo", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`)
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.Contains(t, response.Header.Get("WWW-Authenticate"), "Bearer")
}

func TestOnlyPublishedAgentsAreThere(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	const call = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`
	for _, path := range []string{"/a2a/other", "/a2a/nobody"} {
		response, body := p.rpc(path, call)
		require.Equal(t, http.StatusNotFound, response.StatusCode, body)
	}
	for path, status := range map[string]int{
		"/a2a/other/.well-known/agent-card.json": 404, "/a2a/demo/.well-known/agent-card.json": 200,
		"/.well-known/agent-card.json": 404, // there are two
		"/a2a/demo":                    405, "/a2a": 404,
	} {
		request, err := http.NewRequestWithContext(bounded(t), http.MethodGet, p.URL+path, http.NoBody)
		require.NoError(t, err)
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		require.NoError(t, err)
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, status, response.StatusCode, path)
		if path == a2a.PathCard {
			require.Contains(t, string(body), "PAWL_A2A_AGENT", "the answer says where the cards are")
		}
	}
}

func TestARequestMustComeFromThisMachineWithoutKeys(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	const call = `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`
	response, _ := p.rpc("/a2a/demo", call, "Origin: https://evil.example")
	require.Equal(t, http.StatusForbidden, response.StatusCode)
	response, _ = p.rpc("/a2a/demo", call, "Content-Type: text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, response.StatusCode)
	for _, text := range []string{`"\ud83d"`, "\"\xff\""} {
		response, _ = p.rpc("/a2a/demo", `{"jsonrpc":"2.0","id":1,"method":`+text+`}`)
		require.Equal(t, http.StatusBadRequest, response.StatusCode, text)
	}
	response, _ = p.rpc("/a2a/demo", `{"jsonrpc":"2.0","id":1,"x":"`+strings.Repeat("x", 1<<20)+`"}`)
	require.Equal(t, http.StatusRequestEntityTooLarge, response.StatusCode)
}
