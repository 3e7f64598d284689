package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// paramToken carries a stream token. It is in no log: the log has paths without parameters.
const paramToken = "token"

// streamToken makes a token that opens the execution's stream, for a client that cannot send a header: a browser's
// EventSource.
func (s *Server) streamToken(c echo.Context) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	if err := s.decodeOptional(c, &struct{}{}); err != nil {
		return err
	}
	ctx := c.Request().Context()
	if _, err := s.link(c).Execution(ctx, id); err != nil { // whoever may not see it gets no token either
		return err
	}
	token, err := s.cfg.Access.StreamToken(ctx, auth.From(ctx), id)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, token)
}

// enterByToken names the caller of a stream by the token in its address.
func (s *Server) enterByToken(c echo.Context) (*auth.Visit, error) {
	r := c.Request()
	if len(r.Header.Values("Authorization")) > 0 {
		return nil, invalid(paramToken, "comes beside an Authorization header: want one of them")
	}
	id, err := executionID(c)
	if err != nil {
		return nil, err
	}
	visit, err := s.cfg.Access.Stream(r, r.URL.Query().Get(paramToken), id)
	if err != nil {
		return nil, err
	}
	if kind, err := negotiate(r, typeJSON, typeStream); err != nil || kind != typeStream {
		return nil, execution.NewAPIError(execution.Forbidden,
			"the token opens the stream alone: send Accept: %s", typeStream).In(paramToken)
	}
	return visit, nil
}
