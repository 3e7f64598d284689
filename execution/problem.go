package execution

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// ErrorCode is the stable name of an error, the same in Go and over HTTP.
type ErrorCode string

// The codes.
const (
	InvalidRequest       ErrorCode = "invalid_request"
	UnknownField         ErrorCode = "unknown_field" // also a field whose feature this version does not have
	UnknownAgent         ErrorCode = "unknown_agent"
	Unauthenticated      ErrorCode = "unauthenticated"
	Forbidden            ErrorCode = "forbidden"
	NotFound             ErrorCode = "not_found"
	MethodNotAllowed     ErrorCode = "method_not_allowed"
	NotAcceptable        ErrorCode = "not_acceptable"
	Conflict             ErrorCode = "conflict"
	IdempotencyKeyReused ErrorCode = "idempotency_key_reused"
	ConversationBusy     ErrorCode = "conversation_busy"
	InteractionClosed    ErrorCode = "interaction_closed"
	ExecutionEnded       ErrorCode = "execution_ended"
	Gone                 ErrorCode = "gone" // the execution that the key named was deleted
	TooLarge             ErrorCode = "too_large"
	UnsupportedMediaType ErrorCode = "unsupported_media_type"
	Overloaded           ErrorCode = "overloaded"
	Internal             ErrorCode = "internal"
	Unavailable          ErrorCode = "unavailable"
)

// The classes of error of a link; errors.Is finds them in every *APIError. A finer one wraps its class.
var (
	ErrInvalid         = errors.New("invalid request")
	ErrUnauthenticated = errors.New("caller is not authenticated")
	ErrForbidden       = errors.New("caller is not allowed to access this execution")
	ErrNotFound        = errors.New("execution not found")
	ErrConflict        = errors.New("execution state conflict")
	ErrOverloaded      = errors.New("runtime is overloaded")
	ErrUnavailable     = errors.New("runtime dependency unavailable")
	ErrInternal        = errors.New("runtime internal failure")

	// ErrUnknownField: the request has a field that this version does not know.
	ErrUnknownField = fmt.Errorf("%w: unknown field", ErrInvalid)
	// ErrUnknownAgent: no agent of that name is declared.
	ErrUnknownAgent = fmt.Errorf("%w: unknown agent", ErrInvalid)
	// ErrIdempotencyKeyReused: the key belongs to another request.
	ErrIdempotencyKeyReused = fmt.Errorf("%w: idempotency key reused", ErrConflict)
	// ErrConversationBusy: the conversation has an active execution.
	ErrConversationBusy = fmt.Errorf("%w: conversation busy", ErrConflict)
	// ErrInteractionClosed: the interaction is not open, or was answered otherwise.
	ErrInteractionClosed = fmt.Errorf("%w: interaction closed", ErrConflict)
	// ErrGone: the idempotency key names an execution that was deleted.
	ErrGone = fmt.Errorf("%w: deleted", ErrConflict)
	// ErrExecutionEnded: the execution has ended.
	ErrExecutionEnded = fmt.Errorf("%w: execution ended", ErrConflict)
)

const statusInternal = 500

// problemKind is what a code implies.
type problemKind struct {
	status int
	title  string
	class  error
}

// kind is the one table from code to HTTP status and class. An unknown code, of a later release, has neither.
func (c ErrorCode) kind() (problemKind, bool) {
	table := map[ErrorCode]problemKind{
		InvalidRequest:       {400, "Bad Request", ErrInvalid},
		UnknownField:         {400, "Bad Request", ErrUnknownField},
		UnknownAgent:         {400, "Bad Request", ErrUnknownAgent},
		Unauthenticated:      {401, "Unauthorized", ErrUnauthenticated},
		Forbidden:            {403, "Forbidden", ErrForbidden},
		NotFound:             {404, "Not Found", ErrNotFound},
		MethodNotAllowed:     {405, "Method Not Allowed", ErrInvalid},
		NotAcceptable:        {406, "Not Acceptable", ErrInvalid},
		Conflict:             {409, "Conflict", ErrConflict},
		IdempotencyKeyReused: {409, "Conflict", ErrIdempotencyKeyReused},
		ConversationBusy:     {409, "Conflict", ErrConversationBusy},
		InteractionClosed:    {409, "Conflict", ErrInteractionClosed},
		ExecutionEnded:       {409, "Conflict", ErrExecutionEnded},
		Gone:                 {410, "Gone", ErrGone},
		TooLarge:             {413, "Content Too Large", ErrInvalid},
		UnsupportedMediaType: {415, "Unsupported Media Type", ErrInvalid},
		Overloaded:           {429, "Too Many Requests", ErrOverloaded},
		Internal:             {500, "Internal Server Error", ErrInternal},
		Unavailable:          {503, "Service Unavailable", ErrUnavailable},
	}
	kind, known := table[c]
	return kind, known
}

// APIError is every error of a link. Detail is for people and carries no secret; Field names the part of the request
// that was wrong: a path like input.text, a query parameter or a header. RetryAfter is set for overloaded and may be
// set for unavailable.
type APIError struct {
	Status     int
	Code       ErrorCode
	Detail     string
	Field      string
	RetryAfter time.Duration

	cause error // for logs only
}

// NewAPIError gives the error of a code with the code's own status. A detail of more than 2 KiB is cut in its middle.
func NewAPIError(code ErrorCode, format string, args ...any) *APIError {
	kind, known := code.kind()
	if !known {
		kind.status = statusInternal
	}
	return &APIError{Status: kind.status, Code: code, Detail: clipDetail(fmt.Sprintf(format, args...))}
}

// In names the field and returns e.
func (e *APIError) In(field string) *APIError {
	e.Field = field
	return e
}

// After sets RetryAfter and returns e.
func (e *APIError) After(d time.Duration) *APIError {
	e.RetryAfter = d
	return e
}

// Because keeps the cause for logs and errors.Is and returns e. It is never sent to a client.
func (e *APIError) Because(cause error) *APIError {
	e.cause = cause
	return e
}

// Cause is what Because was given.
func (e *APIError) Cause() error { return e.cause }

// Error is the class's text and the detail, without the cause.
func (e *APIError) Error() string {
	text := string(e.Code)
	if kind, known := e.Code.kind(); known {
		text = kind.class.Error()
	}
	if e.Field != "" {
		text += " (" + e.Field + ")"
	}
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Unwrap is the class of the code, and the cause. A code of a later release has the class of its status.
func (e *APIError) Unwrap() []error {
	class := classOfStatus(e.Status)
	if kind, known := e.Code.kind(); known {
		class = kind.class
	}
	errs := make([]error, 0, 2)
	for _, err := range []error{class, e.cause} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

func classOfStatus(status int) error {
	switch {
	case status == 401:
		return ErrUnauthenticated
	case status == 403:
		return ErrForbidden
	case status == 404:
		return ErrNotFound
	case status == 409, status == 410:
		return ErrConflict
	case status == 429:
		return ErrOverloaded
	case status == 502, status == 503, status == 504:
		return ErrUnavailable
	case status >= statusInternal:
		return ErrInternal
	default:
		return ErrInvalid
	}
}

// problem is the JSON form of an error, application/problem+json.
type problem struct {
	Type   string    `json:"type"`
	Title  string    `json:"title"`
	Status int       `json:"status"`
	Code   ErrorCode `json:"code"`
	Detail string    `json:"detail,omitempty"`
	Field  string    `json:"field,omitempty"`
}

// MarshalJSON writes application/problem+json. RetryAfter travels in its header.
func (e *APIError) MarshalJSON() ([]byte, error) {
	kind, _ := e.Code.kind()
	return json.Marshal(problem{
		Type: "about:blank", Title: kind.title, Status: e.Status, Code: e.Code,
		Detail: e.Detail, Field: e.Field,
	})
}

// UnmarshalJSON reads application/problem+json.
func (e *APIError) UnmarshalJSON(data []byte) error {
	var p problem
	if err := json.Unmarshal(data, &p); err != nil {
		return fmt.Errorf("decode problem: %w", err)
	}
	*e = APIError{Status: p.Status, Code: p.Code, Detail: p.Detail, Field: p.Field}
	return nil
}
