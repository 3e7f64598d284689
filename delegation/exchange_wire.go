package delegation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

const (
	exchangeGrant = "urn:ietf:params:oauth:grant-type:token-exchange"
	refreshGrant  = "refresh_token"
	maxAnswer     = 256 << 10
)

// tokens is the answer of a token endpoint.
type tokens struct {
	AccessToken  string  `json:"access_token"`
	RefreshToken string  `json:"refresh_token"`
	TokenType    string  `json:"token_type"`
	ExpiresIn    seconds `json:"expires_in"`
}

// seconds is how long a token lasts, at most ten years. Some servers write it between quotes.
type seconds int64

const mostSeconds = 10 * 365 * 24 * 3600

// UnmarshalJSON reads a number, or one between quotes.
func (s *seconds) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" || text == "" {
		return nil
	}
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return errors.New("expires_in is no number")
	}
	*s = seconds(min(max(value, 0), mostSeconds))
	return nil
}

// serverError is the answer of an endpoint that refuses.
type serverError struct {
	Code string `json:"error"`
}

func (e *Exchange) exchange(
	ctx context.Context, subject execution.Credential, kind string, request execution.DelegationRequest,
) (tokens, error) {
	form := url.Values{
		"grant_type": {exchangeGrant}, "subject_token": {subject.Reveal()}, "subject_token_type": {kind},
		"requested_token_type": {e.cfg.RequestedTokenType},
	}
	if request.Audience != "" {
		form.Set("audience", request.Audience)
	}
	if request.Resource != "" {
		form.Set("resource", request.Resource)
	}
	if len(request.Scopes) > 0 {
		form.Set("scope", strings.Join(request.Scopes, " "))
	}
	return e.ask(ctx, form)
}

func (e *Exchange) refresh(ctx context.Context, r record) (tokens, error) {
	granted, err := e.ask(ctx, url.Values{"grant_type": {refreshGrant}, "refresh_token": {r.RefreshToken}})
	return granted, lost(err)
}

// lost takes a refusal of what the lease itself has for its end.
func lost(err error) error {
	if refusal := (*Refusal)(nil); errors.As(err, &refusal) {
		return fmt.Errorf("%w: %s", ErrLost, refusal.Reason)
	}
	return err
}

// ask sends a form to the token endpoint.
func (e *Exchange) ask(ctx context.Context, form url.Values) (tokens, error) {
	status, body, err := e.post(ctx, e.cfg.TokenURL, form)
	if err != nil {
		return tokens{}, err
	}
	if status != http.StatusOK {
		return tokens{}, refusedBy(status, body)
	}
	var granted tokens
	if err := json.Unmarshal(body, &granted); err != nil || granted.AccessToken == "" {
		return tokens{}, fmt.Errorf("%w: the token endpoint answered 200 without a token", ErrUnavailable)
	}
	if !sendable(granted.AccessToken) {
		return tokens{}, fmt.Errorf("%w: the token holds what no header may hold", ErrUnavailable)
	}
	if kind := granted.TokenType; kind != "" && !strings.EqualFold(kind, "bearer") {
		return tokens{}, &Refusal{Reason: "the server gave a token of another type than bearer"}
	}
	return granted, nil
}

// sendable reports whether the token may stand in a header.
func sendable(token string) bool {
	return !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// revoke ends the tokens of a record at the server: the refresh token first, which takes the others along at many servers.
func (e *Exchange) revoke(ctx context.Context, r record) error {
	if e.cfg.RevokeURL == "" {
		return nil
	}
	for _, token := range []struct{ value, hint string }{
		{r.RefreshToken, "refresh_token"}, {r.AccessToken, "access_token"},
	} {
		if token.value == "" {
			continue
		}
		form := url.Values{"token": {token.value}, "token_type_hint": {token.hint}}
		status, body, err := e.post(ctx, e.cfg.RevokeURL, form)
		if err != nil {
			return err
		}
		if status != http.StatusOK && status != http.StatusNoContent && !alreadyOver(status, body) {
			return fmt.Errorf("%w: the revocation endpoint answered %d", ErrUnavailable, status)
		}
	}
	return nil
}

// alreadyOver reports an answer of servers that do not say 200 to a token which is over, or whose kind they do not revoke.
func alreadyOver(status int, body []byte) bool {
	code := codeOf(body)
	return status == http.StatusBadRequest &&
		(code == "invalid_token" || code == "invalid_grant" || code == "unsupported_token_type")
}

// post sends a form as the client and reads a bounded answer. What is wrong with the connection is ErrUnavailable and says
// nothing of what was sent.
func (e *Exchange) post(ctx context.Context, address string, form url.Values) (status int, body []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, nil, fmt.Errorf("%w: the address of the server is malformed", ErrUnavailable)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Accept", "application/json")
	request.SetBasicAuth(url.QueryEscape(e.cfg.ClientID), url.QueryEscape(e.cfg.ClientSecret.Reveal()))
	response, err := e.cfg.HTTP.Do(request)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read
	body, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if len(body) > maxAnswer {
		return 0, nil, fmt.Errorf("%w: the answer is too long", ErrUnavailable)
	}
	if kind, _, err := mime.ParseMediaType(response.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		if response.StatusCode == http.StatusOK && len(body) > 0 && address == e.cfg.TokenURL {
			return 0, nil, fmt.Errorf("%w: the answer is no JSON", ErrUnavailable)
		}
	}
	return response.StatusCode, body, nil
}

// refusedBy tells what the server will not do from what it cannot do now. Its own words are not passed on: some servers
// repeat in them what they were sent.
func refusedBy(status int, body []byte) error {
	code := codeOf(body)
	switch {
	case status == http.StatusTooManyRequests || status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: the token endpoint answered %d", ErrUnavailable, status)
	case code == "invalid_client" || code == "unauthorized_client" || status == http.StatusUnauthorized:
		return fmt.Errorf("%w: the token endpoint does not take the client's id and secret", ErrUnavailable)
	case code == "invalid_target":
		return &Refusal{Field: "delegation.audience", Reason: "the server gives no token for that audience or resource"}
	case code == "invalid_scope":
		return &Refusal{Field: "delegation.scopes", Reason: "the server does not give that scope"}
	case code == "invalid_request" || code == "invalid_grant":
		return &Refusal{Reason: "the server does not take the token"}
	case status >= http.StatusMultipleChoices && status < http.StatusBadRequest:
		return fmt.Errorf("%w: the token endpoint answered with a redirect", ErrUnavailable)
	default:
		return &Refusal{Reason: fmt.Sprintf("the server answered %d", status)}
	}
}

// codeOf is the error code of an answer, in the characters that codes have; empty when there is none.
func codeOf(body []byte) string {
	var answer serverError
	if json.Unmarshal(body, &answer) != nil {
		return ""
	}
	return answer.Code
}
