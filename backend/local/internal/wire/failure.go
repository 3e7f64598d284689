package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/backend/local"
)

const (
	// shortestLeak is how many bytes of the key in a row make a text one that shows it.
	shortestLeak = 6
	maxMessage   = 500
)

// The codes of permanent failures that texts decide.
const (
	codeContextLength = "context_length"
	codeContentFilter = "content_filter"
)

// detail is what providers say of a failure, in any of their shapes.
type detail struct {
	Message string
	Code    string // a word, or a status in digits
	Type    string
}

// statusFailure classifies an answer that is no answer.
func statusFailure(s Settings, status int, header http.Header, body []byte) *local.Error {
	d := readDetail(body)
	kind, code := classify(status, d)
	failure := &local.Error{
		Kind: kind, Code: code,
		Message: strings.TrimSpace(fmt.Sprintf("the model's server answered %d %s", status, http.StatusText(status))),
	}
	if status < http.StatusBadRequest {
		failure.Message += "; set baseURL to the address that answers itself"
	}
	// What a server says of a key it refuses is about the key.
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		failure.Message += s.quote(d.Message)
	}
	if kind == local.Transient {
		failure.RetryAfter = retryAfter(header, time.Now())
	}
	return failure
}

// StreamFailure classifies an error that a provider sent in the middle of an answer.
func StreamFailure(s Settings, raw []byte) *local.Error {
	d := readDetail(raw)
	status, err := strconv.Atoi(d.Code)
	if err != nil || status < http.StatusBadRequest {
		status = statusOfType(d)
	}
	kind, code := classify(status, d)
	failure := &local.Error{Kind: kind, Code: code, Message: "the model's answer ended with an error"}
	if status != http.StatusUnauthorized && status != http.StatusForbidden {
		failure.Message += s.quote(d.Message)
	}
	return failure
}

// Malformed is an answer that could not be read. The next one may be sound.
func Malformed(what string) *local.Error {
	return transient(local.CodeMalformedResponse, "the model's answer could not be read: "+what)
}

// Cut is an answer whose end never came.
func Cut() *local.Error { return transient("stream_cut", "the model's answer broke off") }

// Filtered is an answer that the provider withheld.
func Filtered() *local.Error {
	return &local.Error{Kind: local.Permanent, Code: codeContentFilter, Message: "the model's provider withheld the answer: its content filter stopped it"}
}

// Failed makes what an SDK returned the error of Generate: the cause when ctx has ended, the *local.Error inside, else an
// answer that could not be read. The SDK's own text is left out, because it may show the request.
func Failed(ctx context.Context, provider string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s model: %w", provider, context.Cause(ctx))
	}
	var classified *local.Error
	if errors.As(err, &classified) {
		return classified
	}
	return Malformed("it is not the stream of events it should be")
}

// unanswered reports whether a request was sent and its answer was not waited for: it has cost something, and nobody knows
// what. One that was refused has cost nothing.
func unanswered(ctx context.Context, err error) bool {
	var classified *local.Error
	return ctx.Err() != nil || errors.As(err, &classified) && classified.Code == "timeout"
}

// statusOfType is the status that a provider would have answered had the failure come in time.
func statusOfType(d detail) int {
	for _, word := range []string{d.Type, d.Code} {
		switch word {
		case "invalid_request_error", "invalid_request", "context_length_exceeded", "content_filter":
			return http.StatusBadRequest
		case "authentication_error", "invalid_api_key":
			return http.StatusUnauthorized
		case "permission_error", "permission_denied":
			return http.StatusForbidden
		case "not_found_error", "model_not_found":
			return http.StatusNotFound
		case "request_too_large":
			return http.StatusRequestEntityTooLarge
		case "rate_limit_error", "rate_limit_exceeded", "insufficient_quota":
			return http.StatusTooManyRequests
		case "overloaded_error", "overloaded":
			return http.StatusServiceUnavailable
		case "timeout_error":
			return http.StatusRequestTimeout
		}
	}
	return http.StatusInternalServerError
}

// Classify says what the loop may do about a status without more words, and names the failure for people.
func Classify(status int) (local.ErrorKind, string) { return classify(status, detail{}) }

// classify says what the loop may do and names the failure for people.
func classify(status int, d detail) (local.ErrorKind, string) {
	switch status {
	case http.StatusRequestTimeout:
		return local.Transient, "timeout"
	case http.StatusConflict:
		return local.Transient, "conflict"
	case http.StatusTooManyRequests:
		if d.Code == "insufficient_quota" || d.Type == "insufficient_quota" {
			return local.Transient, "insufficient_quota"
		}
		return local.Transient, "rate_limited"
	case http.StatusServiceUnavailable, 529: // 529 is what an overloaded provider answers
		return local.Transient, "overloaded"
	case http.StatusUnauthorized:
		return local.Permanent, "unauthorized"
	case http.StatusPaymentRequired:
		return local.Permanent, "payment_required"
	case http.StatusForbidden:
		return local.Permanent, "forbidden"
	case http.StatusNotFound:
		return local.Permanent, "model_not_found"
	}
	switch {
	case status >= http.StatusInternalServerError:
		return local.Transient, "model_unavailable"
	case status < http.StatusOK || status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return local.Permanent, "redirected"
	case status < http.StatusBadRequest:
		return local.Transient, local.CodeMalformedResponse
	case tooLong(d):
		return local.Permanent, codeContextLength
	case d.Code == "content_filter" || d.Code == "content_policy_violation":
		return local.Permanent, codeContentFilter
	case status == http.StatusRequestEntityTooLarge:
		return local.Permanent, "request_too_large"
	}
	return local.Permanent, "invalid_request"
}

// tooLong recognizes a transcript that does not fit the model, which providers say in words only.
func tooLong(d detail) bool {
	if d.Code == "context_length_exceeded" || d.Code == "string_above_max_length" {
		return true
	}
	text := strings.ToLower(d.Message)
	for _, words := range []string{
		"context length", "context window", "context limit", "context size", "maximum context", "prompt is too long", "input is too long",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// readDetail finds what a body says of the failure: {"error": {…}}, {"error": "…"}, {"message": "…"}, {"detail": "…"}, or
// the first of a list of these.
func readDetail(body []byte) detail {
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal(body, &outer) != nil {
		return detail{}
	}
	if inner := outer["error"]; len(inner) > 0 {
		if text := word(inner); text != "" {
			return detail{Message: text, Type: word(outer["type"])}
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(inner, &fields) == nil && fields != nil {
			outer = fields
		}
	}
	d := detail{Message: word(outer["message"]), Code: word(outer["code"]), Type: word(outer["type"])}
	if d.Message == "" {
		d.Message = word(outer["detail"])
	}
	return d
}

// word is a JSON string or number as text, else nothing.
func word(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// quote is a provider's text for the end of a message: one line, short, and nothing when it shows some of the key.
func (s Settings) quote(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if text == "" || s.shows(text) {
		return ""
	}
	if len(text) > maxMessage {
		end := maxMessage
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return ": " + text
}

// shows reports whether text holds a piece of the key.
func (s Settings) shows(text string) bool {
	if s.key == "" {
		return false
	}
	size := min(shortestLeak, len(s.key))
	for i := 0; i+size <= len(s.key); i++ {
		if strings.Contains(text, s.key[i:i+size]) {
			return true
		}
	}
	return false
}
