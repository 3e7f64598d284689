package httpapi_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAForkIsAnsweredAsASubmissionIs(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	from := a.submit()
	path := creating + "/" + string(from.ID) + "/fork"
	body := `{"step": 0, "input": {"type": "user_message", "text": "instead"}}`
	got := a.do(post, path, body, "Idempotency-Key: k")
	require.Equal(t, http.StatusAccepted, got.StatusCode, got.body)
	var view execution.View
	got.decode(t, &view)
	require.Equal(t, creating+"/"+string(view.ID), got.Header.Get("Location"))
	require.Equal(t, &execution.Origin{ExecutionID: from.ID}, view.ForkedFrom)
	again := a.do(post, path, body, "Idempotency-Key: k")
	require.Equal(t, http.StatusOK, again.StatusCode, again.body)
	require.Equal(t, "true", again.Header.Get("Idempotency-Replayed"))
	require.Equal(t, got.Header.Get("Location"), again.Header.Get("Location"))
	refused(t, a.do(post, path, `{"step": 1}`, "Idempotency-Key: k"), 400, execution.InvalidRequest, "step")
	refused(t, a.do(post, path, `{"step": 0}`, "Idempotency-Key: k"), 409, execution.IdempotencyKeyReused, "Idempotency-Key")
}

func TestAForkIsRefusedByField(t *testing.T) {
	t.Parallel()
	a := serve(t, memory(t))
	path := creating + "/" + string(a.submit().ID) + "/fork"
	for body, want := range map[string]struct {
		code  execution.ErrorCode
		field string
	}{
		``:                                {execution.InvalidRequest, "body"},
		`{}`:                              {execution.InvalidRequest, "step"},
		`{"step": null}`:                  {execution.InvalidRequest, "step"},
		`{"step": -1}`:                    {execution.InvalidRequest, "step"},
		`{"step": 0.5}`:                   {execution.InvalidRequest, "step"},
		`{"step": "0"}`:                   {execution.InvalidRequest, "step"},
		`{"step": 99999999999999999}`:     {execution.InvalidRequest, "step"},
		`{"step": 0, "agent": "demo"}`:    {execution.UnknownField, "agent"},
		`{"step": 0, "model": ""}`:        {execution.InvalidRequest, "model"},
		`{"step": 0, "instructions": ""}`: {execution.InvalidRequest, "instructions"},
		`{"step": 0, "input": {"type": "user_message", "text": ""}}`: {execution.InvalidRequest, "input.text"},
	} {
		got := a.do(post, path, body, "Content-Type: application/json")
		refused(t, got, http.StatusBadRequest, want.code, want.field)
	}
}
