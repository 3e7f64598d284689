package httpapi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

func (s *Server) create(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	key, err := idempotencyKey(c.Request())
	if err != nil {
		return err
	}
	var request execution.CreateRequest
	if err := s.decode(c, &request); err != nil {
		return err
	}
	created, err := s.link(c).Create(c.Request().Context(), key, request)
	if err != nil {
		return err
	}
	return submitted(c, created)
}

func (s *Server) get(c echo.Context) error {
	if _, err := negotiate(c.Request(), typeJSON); err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	query, err := parameters(c, "wait", "version")
	if err != nil {
		return err
	}
	d, version, err := wait(query)
	if err != nil {
		return err
	}
	if d > 0 {
		release, err := s.hold(c)
		if err != nil {
			return err
		}
		defer release()
	}
	ctx, cancel := s.admitted(c)
	defer cancel()
	view, err := s.link(c).Wait(ctx, id, version, d)
	if refused := ended(ctx); err != nil && refused != nil {
		return refused
	}
	if err != nil && s.stopping.Err() != nil {
		view, err = s.link(c).Execution(c.Request().Context(), id) // no more waiting here: what it is now
	}
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}

func (s *Server) events(c echo.Context) error { return cursorNamed(c.Request(), s.readEvents(c)) }

func (s *Server) readEvents(c echo.Context) error {
	kind, err := negotiate(c.Request(), typeJSON, typeStream)
	if err != nil {
		return err
	}
	id, err := executionID(c)
	if err != nil {
		return err
	}
	query, err := parameters(c, "after", "limit", paramTypes, paramToken)
	if err != nil {
		return err
	}
	after, err := cursor(c.Request(), query)
	if err != nil {
		return err
	}
	size, err := limit(query)
	if err != nil {
		return err
	}
	wanted, err := types(query)
	switch {
	case err != nil:
		return err
	case kind == typeStream && query.Has("limit"):
		return invalid("limit", "does not apply to a stream")
	case kind == typeStream:
		return s.stream(c, id, after, wanted)
	case wanted != nil:
		return invalid(paramTypes, "applies to a stream only")
	}
	page, err := s.link(c).Events(c.Request().Context(), id, after, size)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, page)
}

func (s *Server) input(c echo.Context) error {
	id, err := addressed(c)
	if err != nil {
		return err
	}
	var input execution.SubmitInput
	if err := s.decode(c, &input); err != nil {
		return err
	}
	view, err := s.link(c).SubmitInput(c.Request().Context(), id, input)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, view)
}

func (s *Server) agents(c echo.Context) error {
	if err := plain(c); err != nil {
		return err
	}
	agents, err := s.link(c).Agents(c.Request().Context())
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, struct {
		Agents []execution.AgentSummary `json:"agents"`
	}{agents})
}

// addressed is the execution of a request that plain lets pass.
func addressed(c echo.Context) (execution.ID, error) {
	if err := plain(c); err != nil {
		return "", err
	}
	return executionID(c)
}

// plain checks a request that takes no parameters and is answered in JSON.
func plain(c echo.Context) error {
	if _, err := negotiate(c.Request(), typeJSON); err != nil {
		return err
	}
	_, err := parameters(c)
	return err
}
