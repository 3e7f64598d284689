package a2a

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/a2arpc"
)

// The codes of failures. They are stable.
const (
	CodeUnreachable    = "remote_unreachable"
	CodeTimeout        = "remote_request_timeout" // of one request; a run that takes too long has a status of its own
	CodeConnectionLost = "remote_connection_lost" // after something was sent
	CodeUnavailable    = "remote_unavailable"
	CodeRateLimited    = "remote_rate_limited"
	CodeFailed         = execution.CodeRemoteFailed // an error inside the remote
	CodeUnauthorized   = "remote_unauthorized"
	CodeRefused        = "remote_refused"
	CodeMalformed      = "remote_malformed" // an answer that could not be read
	CodeTaskLost       = "remote_task_lost" // the remote does not know the task
	CodeNoCard         = execution.CodeRemoteNotFound
	CodeVersion        = "remote_version"         // no protocol or transport in common
	CodeOutcomeUnknown = "remote_outcome_unknown" // a message was sent twice, and nobody knows what became of it
	CodeNotCanceled    = "remote_not_canceled"    // the remote was told and goes on
)

// errTimeout is the cause of a request whose own time has passed.
var errTimeout = errors.New("the request's time has passed")

// refused reports whether the remote answered with one of these codes of JSON-RPC.
func refused(err error, codes ...int) bool {
	var rpc *a2arpc.Error
	if !errors.As(err, &rpc) {
		return false
	}
	for _, code := range codes {
		if rpc.Code == code {
			return true
		}
	}
	return false
}

// failure is what an error of a request means. Kind Unknown says that the request may have been carried out.
func (s settings) failure(err error) *local.Error {
	var status *statusError
	var rpc *a2arpc.Error
	var stranger *strangerError
	var redirect *redirectError
	var network *networkError
	var known *local.Error
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &status):
		return statusFailure(status)
	case errors.As(err, &rpc):
		return s.rpcFailure(rpc)
	case errors.As(err, &stranger):
		return s.strangerFailure(stranger)
	case errors.As(err, &redirect):
		return permanent(CodeRefused, "the remote agent answered with a redirect that is not followed: "+redirect.why)
	case errors.Is(err, errTooLong):
		return permanent(CodeMalformed, "the remote agent's answer is longer than is read")
	case errors.As(err, &network):
		return networkFailure(network)
	}
	return permanent(CodeMalformed, "the remote agent's answer is not one of A2A "+a2arpc.Spoken)
}

func permanent(code, message string) *local.Error {
	return &local.Error{Kind: local.Permanent, Code: code, Message: message}
}

func statusFailure(e *statusError) *local.Error {
	failed := &local.Error{
		Kind: local.StatusKind(e.status), Code: CodeRefused, RetryAfter: e.retryAfter,
		Message: strings.TrimSpace(fmt.Sprintf("the remote agent answered %d %s", e.status, http.StatusText(e.status))),
	}
	switch {
	case e.status == http.StatusTooManyRequests:
		failed.Code = CodeRateLimited
	case failed.Kind == local.Transient:
		failed.Code = CodeUnavailable
	case failed.Kind == local.Unknown:
		failed.Code = CodeFailed
	case e.status == http.StatusUnauthorized, e.status == http.StatusForbidden:
		failed.Code = CodeUnauthorized
	}
	return failed
}

func (s settings) rpcFailure(e *a2arpc.Error) *local.Error {
	failed := permanent(CodeRefused, fmt.Sprintf("the remote agent answered error %d%s", e.Code, s.quote(e.Message)))
	failed.Err = &a2arpc.Error{Code: e.Code} // its text stays out: it may show the credentials
	switch e.Code {
	case a2arpc.Internal, a2arpc.Server:
		failed.Kind, failed.Code = local.Unknown, CodeFailed
	case a2arpc.TaskNotFound:
		failed.Code, failed.Message = CodeTaskLost, "the remote agent does not know the task"
	}
	return failed
}

func (s settings) strangerFailure(e *strangerError) *local.Error {
	named := strings.TrimPrefix(s.quote(e.other), ":")
	if named == "" {
		named = " missing"
	}
	return permanent(CodeMalformed, "the remote agent answered another request than "+strconv.Quote(e.id)+": the id of the answer is"+named)
}

func networkFailure(e *networkError) *local.Error {
	failed := &local.Error{Kind: local.Transient, Code: CodeUnreachable, Message: "the remote agent cannot be reached: " + plain(e.cause)}
	if e.sent {
		failed.Kind, failed.Code = local.Unknown, CodeConnectionLost
		failed.Message = "the connection to the remote agent was lost: " + plain(e.cause)
	}
	if errors.Is(e.cause, errTimeout) || errors.Is(e.cause, context.DeadlineExceeded) {
		failed.Code, failed.Message = CodeTimeout, "the remote agent did not answer in time"
	}
	return failed
}

// plain is an error of the network without addresses, which may hold a secret.
func plain(err error) string {
	var operation *net.OpError
	if errors.As(err, &operation) {
		return operation.Op + ": " + operation.Err.Error()
	}
	var name *net.DNSError
	if errors.As(err, &name) {
		return "its name is not known"
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err.Error()
	}
	return err.Error()
}

// repeatable is the failure of a request that does nothing at the remote when it is sent again.
func repeatable(failed *local.Error) *local.Error {
	if failed.Kind != local.Unknown {
		return failed
	}
	again := *failed
	again.Kind = local.Transient
	return &again
}

// asError is the failure as a backend returns it.
func asError(failed *local.Error) error {
	return &backend.Error{Kind: backend.ErrorRemote, Message: failed.Message, Err: failed}
}

const maxQuote = 500

// quote is a remote's text for the end of a message: one line, short, and without the credentials.
func (s settings) quote(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s.clean(text), "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if text == "" {
		return ""
	}
	if len(text) > maxQuote {
		end := maxQuote
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return ": " + text
}

// clean takes the credentials out of a text of the remote.
func (s settings) clean(text string) string {
	if s.secret == "" {
		return text
	}
	return strings.ReplaceAll(text, s.secret, "[credentials]")
}

// within is ctx with the time of one request.
func (s settings) within(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, min(most, s.request), errTimeout)
}
