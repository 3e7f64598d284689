package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// Access knows who sends a request. *auth.Gate satisfies it. Its errors are *execution.APIError.
type Access interface {
	// Admit lets in a request for what needs no credential.
	Admit(r *http.Request) error
	// Enter names the caller of any other request.
	Enter(r *http.Request) (*auth.Visit, error)
	// StreamToken makes a token that opens the stream of an execution, with the authority of the visit.
	StreamToken(ctx context.Context, visit *auth.Visit, id execution.ID) (execution.StreamToken, error)
	// Stream names the caller who opens the stream with such a token.
	Stream(r *http.Request, token string, id execution.ID) (*auth.Visit, error)
}

// withAccess fills in who comes in, and checks the origins.
func (c Config) withAccess() (Config, error) {
	for _, origin := range c.Origins {
		if !checkOrigin(origin) {
			return c, fmt.Errorf("httpapi: Origins: want origins such as https://app.example.com, have %q", origin)
		}
	}
	switch {
	case c.Access != nil && c.Authenticate != nil:
		return c, errors.New("httpapi: Access and Authenticate: want one of them")
	case c.Authenticate != nil:
		c.Access = auth.By(c.Authenticate)
	case c.Access == nil:
		c.Access = auth.Open(nil, c.Origins...)
	}
	return c, nil
}

// admitted is a request's context that ends when the server drains, and with the error when the caller's credential is good
// no longer: nothing may stay open for a revoked key.
func (s *Server) admitted(c echo.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(c.Request().Context())
	stop := context.AfterFunc(s.stopping, func() { cancel(nil) })
	visit := auth.From(ctx)
	if !visit.Ends() {
		return ctx, func() { stop(); cancel(nil) }
	}
	var timer *time.Timer
	armed := make(chan struct{})
	timer = time.AfterFunc(s.cfg.Recheck, func() {
		<-armed
		if err := visit.Check(ctx); errors.Is(err, execution.ErrUnauthenticated) {
			cancel(err)
			return
		}
		if ctx.Err() == nil { // what cannot be found out now says nothing
			timer.Reset(s.cfg.Recheck)
		}
	})
	close(armed)
	return ctx, func() { stop(); cancel(nil); timer.Stop() }
}

// ended is why an admitted context ended, when that was the caller's credential.
func ended(ctx context.Context) error {
	var api *execution.APIError
	if cause := context.Cause(ctx); errors.As(cause, &api) {
		return api
	}
	return nil
}
