package httpapi_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestWhatWasDeletedIsNotFoundAndItsKeyIsGone(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	created := a.do(http.MethodPost, "/v1/executions", validBody, "Idempotency-Key: k")
	require.Equal(t, http.StatusAccepted, created.StatusCode)
	var view execution.View
	created.decode(t, &view)
	one := "/v1/executions/" + string(view.ID)
	refused(t, a.do(http.MethodDelete, one, ""), http.StatusConflict, execution.Conflict, "id")
	require.Equal(t, http.StatusAccepted, a.do(http.MethodPost, one+"/cancel", "").StatusCode)
	deleted := a.do(http.MethodDelete, one, "")
	require.Equal(t, http.StatusNoContent, deleted.StatusCode, deleted.body)
	require.Empty(t, deleted.body)
	for _, path := range []string{one, one + "/events", one + "/messages", one + "/checkpoints", one + "/why"} {
		refused(t, a.do(http.MethodGet, path, ""), http.StatusNotFound, execution.NotFound, "id")
	}
	refused(t, a.do(http.MethodDelete, one, ""), http.StatusNotFound, execution.NotFound, "id")
	refused(t, a.do(http.MethodPost, "/v1/executions", validBody, "Idempotency-Key: k"), http.StatusGone,
		execution.Gone, "Idempotency-Key")
}

func TestAReleaseIsAccepted(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	linktest.Claim(t, store, view.ID)
	one := "/v1/executions/" + string(view.ID) + "/release"
	require.Equal(t, http.StatusAccepted, a.do(http.MethodPost, one, "").StatusCode)
	require.Equal(t, http.StatusOK, a.do(http.MethodPost, one, "").StatusCode, "nobody holds it any more")
	linktest.Claim(t, store, view.ID).Complete("done")
	refused(t, a.do(http.MethodPost, one, ""), http.StatusConflict, execution.ExecutionEnded, "id")
}

func TestABulkCallAnswersWhatItDid(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	view := a.submit()
	body := `{"action": "cancel", "filter": {"agent": "demo"}, "limit": 10`
	for _, c := range []struct{ body, answer string }{
		{body + `, "dryRun": true}`, `{"matched": 1, "changed": 1, "executions": ["` + string(view.ID) + `"]}`},
		{body + `}`, `{"matched": 1, "changed": 1, "executions": ["` + string(view.ID) + `"]}`},
		{body + `}`, `{"matched": 0, "changed": 0, "executions": []}`},
	} {
		got := a.do(http.MethodPost, "/v1/executions/bulk", c.body)
		require.Equal(t, http.StatusOK, got.StatusCode, got.body)
		require.JSONEq(t, c.answer, got.body)
	}
}

// A field that is there and empty is a client's unset variable: it must not widen what is canceled.
func TestAnEmptyFilterIsRefused(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	a.submit()
	for member, field := range map[string]string{
		`"agent": ""`: "filter.agent", `"conversationId": "", "agent": "demo"`: "filter.conversationId",
		`"metadata": {}, "agent": "demo"`: "filter.metadata", `"state": "", "agent": "demo"`: "filter.state",
		`"updatedSinceMs": 0, "agent": "demo"`: "filter.updatedSinceMs",
	} {
		got := a.do(http.MethodPost, "/v1/executions/bulk", `{"action": "cancel", "filter": {`+member+`}}`)
		refused(t, got, http.StatusBadRequest, execution.InvalidRequest, field)
	}
	for _, parameter := range []string{"state", "agent", "conversationId", "updatedSince", "cursor", "limit"} {
		got := a.do(http.MethodGet, "/v1/executions?"+parameter+"=", "")
		refused(t, got, http.StatusBadRequest, execution.InvalidRequest, parameter)
	}
}

// Case D5: a reader of a stream, and one that waits, leave in the middle. Neither is a cancel: the execution goes on.
func TestCaseD5_AClientThatGoesAwayCancelsNothing(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	view := a.submit()
	worker := linktest.Claim(t, store, view.ID)
	for _, path := range []string{"/events", "?wait=30s"} {
		ctx, leave := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/v1/executions/"+string(view.ID)+path, nil)
		require.NoError(t, err)
		done := make(chan error, 1)
		if path == "/events" {
			request.Header.Set("Accept", "text/event-stream")
			response, err := http.DefaultTransport.RoundTrip(request)
			require.NoError(t, err)
			leave()
			require.NoError(t, response.Body.Close())
			continue
		}
		go func() {
			response, err := http.DefaultTransport.RoundTrip(request)
			if err == nil {
				err = response.Body.Close()
			}
			done <- err
		}()
		leave()
		require.Error(t, <-done, "it left before the answer")
	}
	worker.Complete("done")
	var ended execution.View
	a.do(http.MethodGet, "/v1/executions/"+string(view.ID), "").decode(t, &ended)
	require.Equal(t, execution.Completed, ended.State)
	require.False(t, ended.CancelRequested)
}
