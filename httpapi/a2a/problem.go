package a2a

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

// errVersion is the error of a request in another version of the protocol.
var errVersion = errors.New("protocol version is not supported")

// codes are the errors of the protocol and their codes.
func codes() []struct {
	err  error
	code int
} {
	return []struct {
		err  error
		code int
	}{
		{sdk.ErrParseError, a2arpc.Parse},
		{sdk.ErrInvalidRequest, a2arpc.InvalidRequest},
		{sdk.ErrMethodNotFound, a2arpc.NoMethod},
		{sdk.ErrInvalidParams, a2arpc.InvalidParams},
		{sdk.ErrServerError, a2arpc.Server},
		{sdk.ErrTaskNotFound, a2arpc.TaskNotFound},
		{sdk.ErrTaskNotCancelable, a2arpc.NotCancelable},
		{sdk.ErrPushNotificationNotSupported, a2arpc.NoPush},
		{sdk.ErrUnsupportedOperation, a2arpc.Unsupported},
		{sdk.ErrUnsupportedContentType, a2arpc.ContentType},
		{sdk.ErrAuthenticatedExtendedCardNotConfigured, a2arpc.NoExtendedCard},
		{errVersion, a2arpc.VersionUnsupported},
	}
}

// answerOf is an error as it is sent, and its HTTP status: 200 unless proxies and clients are to know it too. Its data repeats the
// text for clients that show nothing else.
func answerOf(err error) (answer a2arpc.Error, status int) {
	answer, status = a2arpc.Error{Code: a2arpc.Internal, Message: "the server failed"}, http.StatusInternalServerError
	for _, known := range codes() {
		if errors.Is(err, known.err) {
			answer, status = a2arpc.Error{Code: known.code, Message: err.Error()}, http.StatusOK
			break
		}
	}
	data := map[string]any{"error": answer.Message}
	answer.Data = data
	var wrong *fieldError
	if errors.As(err, &wrong) {
		data["code"], data["field"] = execution.InvalidRequest, wrong.field
	}
	var api *execution.APIError
	if errors.As(err, &api) && answer.Code != a2arpc.Internal {
		data["code"] = api.Code
		if api.Field != "" {
			data["field"] = fieldOf(api.Field)
		}
		if answer.Code == a2arpc.Server {
			status = api.Status
		}
	}
	return answer, status
}

// wait tells when to try again.
func wait(h http.Header, err error) {
	var api *execution.APIError
	if errors.As(err, &api) && api.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(api.RetryAfter.Seconds()))))
	}
}

// problem is a link's error as the protocol has it. It wraps both.
func problem(err error) error {
	var api *execution.APIError
	switch {
	case errors.As(err, &api):
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: the request was cut off", sdk.ErrServerError)
	default:
		return err // it is logged and not sent
	}
	class := sdk.ErrServerError
	switch api.Code {
	case execution.NotFound:
		if api.Field == "conversationId" {
			class = sdk.ErrInvalidParams
			break
		}
		return fmt.Errorf("%w%w", sdk.ErrTaskNotFound, hidden{api})
	case execution.InvalidRequest, execution.UnknownField, execution.UnknownAgent, execution.IdempotencyKeyReused,
		execution.TooLarge, execution.UnsupportedMediaType:
		class = sdk.ErrInvalidParams
	case execution.Conflict, execution.ConversationBusy, execution.InteractionClosed, execution.ExecutionEnded, execution.Gone:
		class = sdk.ErrUnsupportedOperation
	case execution.Internal:
		return api
	case execution.Unauthenticated, execution.Forbidden, execution.MethodNotAllowed, execution.NotAcceptable,
		execution.Overloaded, execution.Unavailable: // proxies and clients see it by the status
	}
	text := api.Detail
	if api.Field != "" {
		text = fieldOf(api.Field) + ": " + text
	}
	return fmt.Errorf("%w: %s%w", class, text, hidden{api})
}

// hidden is an error that is wrapped and adds nothing to the text.
type hidden struct{ inner error }

func (hidden) Error() string   { return "" }
func (h hidden) Unwrap() error { return h.inner }

// fieldOf is the name that the protocol has for a field of a submission or an input.
func fieldOf(field string) string {
	switch {
	case field == "id":
		return "task id"
	case field == "conversationId":
		return "message.contextId"
	case field == "Idempotency-Key", field == "operationId":
		return "message.messageId"
	case field == "after":
		return headerLast
	case field == "input.text", strings.HasPrefix(field, "input.parts"), field == "input":
		return "message.parts"
	case strings.HasPrefix(field, "input."):
		return "message.parts: " + strings.TrimPrefix(field, "input.")
	default:
		return field
	}
}

// fieldError is an error about one parameter.
type fieldError struct{ field, text string }

func (e *fieldError) Error() string {
	return fmt.Sprintf("%s: %s: %s", sdk.ErrInvalidParams, e.field, e.text)
}
func (*fieldError) Unwrap() error { return sdk.ErrInvalidParams }

// bad is an error that names a parameter.
func bad(field, format string, args ...any) error {
	return &fieldError{field: field, text: fmt.Sprintf(format, args...)}
}

// cannot is an error about the state that a task is in.
func cannot(format string, args ...any) error {
	return fmt.Errorf("%w: %s", sdk.ErrUnsupportedOperation, fmt.Sprintf(format, args...))
}
