package execution_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAnErrorSurvivesItsTripOverHTTP(t *testing.T) {
	t.Parallel()
	cause := errors.New("dial tcp: refused")
	sent := execution.NewAPIError(execution.ConversationBusy, "conversation %s has an active execution", "c1").
		In("conversationId").Because(cause)
	data, err := json.Marshal(sent)
	require.NoError(t, err)
	require.JSONEq(t, `{"type": "about:blank", "title": "Conflict", "status": 409, "code": "conversation_busy",
		"detail": "conversation c1 has an active execution", "field": "conversationId"}`, string(data))
	got := new(execution.APIError)
	require.NoError(t, json.Unmarshal(data, got))
	require.Equal(t, sent.Error(), got.Error())
	require.ErrorIs(t, got, execution.ErrConversationBusy)
	require.ErrorIs(t, got, execution.ErrConflict)
	require.NotErrorIs(t, got, execution.ErrInteractionClosed)
	require.ErrorIs(t, sent, cause)
	require.NotContains(t, sent.Error(), "dial tcp")
}

func TestACodeOfALaterReleaseHasTheClassOfItsStatus(t *testing.T) {
	t.Parallel()
	classes := map[int]error{
		400: execution.ErrInvalid, 401: execution.ErrUnauthenticated, 403: execution.ErrForbidden, 404: execution.ErrNotFound,
		422: execution.ErrInvalid, 409: execution.ErrConflict, 410: execution.ErrConflict, 429: execution.ErrOverloaded,
		500: execution.ErrInternal, 503: execution.ErrUnavailable,
	}
	for status, class := range classes {
		require.ErrorIs(t, &execution.APIError{Status: status, Code: "later"}, class)
	}
}

func TestEveryCodeHasAStatusATitleAndAClass(t *testing.T) {
	t.Parallel()
	statuses := map[execution.ErrorCode]int{
		execution.InvalidRequest: 400, execution.UnknownField: 400, execution.UnknownAgent: 400,
		execution.Unauthenticated: 401, execution.Forbidden: 403, execution.NotFound: 404,
		execution.MethodNotAllowed: 405, execution.NotAcceptable: 406, execution.Conflict: 409,
		execution.IdempotencyKeyReused: 409, execution.Gone: 410, execution.ConversationBusy: 409, execution.InteractionClosed: 409,
		execution.ExecutionEnded: 409, execution.TooLarge: 413, execution.UnsupportedMediaType: 415,
		execution.Overloaded: 429, execution.Internal: 500, execution.Unavailable: 503,
	}
	for code, status := range statuses {
		e := execution.NewAPIError(code, "")
		require.Equal(t, status, e.Status, code)
		require.Len(t, e.Unwrap(), 1)
		data, err := json.Marshal(e)
		require.NoError(t, err)
		require.NotContains(t, string(data), `"title":""`)
	}
}
