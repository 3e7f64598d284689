package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// statusClosed is logged when the client went away before its answer.
const statusClosed = 499

// reportedKey is where fail leaves word that it has logged the request.
const reportedKey = "reported"

// fail answers every error as a problem. What went wrong inside is logged under the request id and stays here.
func (s *Server) fail(err error, c echo.Context) {
	problem := s.problem(err, c)
	if problem.Status >= http.StatusInternalServerError {
		c.Set(reportedKey, true)
		s.cfg.Logger.ErrorContext(c.Request().Context(), "request failed",
			"method", c.Request().Method, "path", c.Request().URL.Path, "status", problem.Status,
			"request", c.Response().Header().Get(requestIDHeader), "error", err, "cause", errors.Unwrap(cause(err)))
	}
	if c.Response().Committed {
		return
	}
	if problem.Status == http.StatusUnauthorized {
		challenge(c)
	}
	if problem.RetryAfter > 0 {
		seconds := math.Ceil(problem.RetryAfter.Seconds())
		c.Response().Header().Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	}
	body, err := json.Marshal(problem)
	if err != nil {
		body = []byte(`{"type":"about:blank","title":"Internal Server Error","status":500,"code":"internal"}`)
	}
	if c.Request().Method == http.MethodHead {
		body = nil
	}
	_ = c.Blob(problem.Status, "application/problem+json", body) // a client that has gone needs no answer
}

// cause wraps what an APIError hides, so that logs show it.
func cause(err error) error {
	var api *execution.APIError
	if errors.As(err, &api) {
		return wrapped{api.Cause()}
	}
	return wrapped{}
}

type wrapped struct{ inner error }

func (w wrapped) Error() string { return "" }
func (w wrapped) Unwrap() error { return w.inner }

func (s *Server) problem(err error, c echo.Context) *execution.APIError {
	var api *execution.APIError
	var framework *echo.HTTPError
	switch {
	case errors.As(err, &api):
		if api.Code != execution.Internal {
			return api
		}
	case errors.As(err, &framework):
		if problem := fromFramework(framework.Code, c); problem != nil {
			return problem
		}
	case errors.Is(err, context.Canceled) && c.Request().Context().Err() != nil:
		return &execution.APIError{Status: statusClosed, Code: execution.Unavailable, Detail: "the client went away"}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return execution.NewAPIError(execution.Unavailable, "the request was cut off").After(time.Second)
	}
	return execution.NewAPIError(execution.Internal,
		"the server failed; its log has more under %s", c.Response().Header().Get(requestIDHeader))
}

// fromFramework gives the router's own errors the shape of all others; nil for those that are faults.
func fromFramework(status int, c echo.Context) *execution.APIError {
	switch status {
	case http.StatusNotFound:
		return execution.NewAPIError(execution.NotFound, "there is nothing at this path; /docs says what there is, and people go to /dashboard/").In("path")
	case http.StatusMethodNotAllowed:
		return execution.NewAPIError(execution.MethodNotAllowed, "%s is not allowed here; allowed: %s",
			c.Request().Method, c.Response().Header().Get(echo.HeaderAllow)).In("method")
	case http.StatusRequestEntityTooLarge:
		return execution.NewAPIError(execution.TooLarge, "the body is too large").In("body")
	case http.StatusUnsupportedMediaType:
		return execution.NewAPIError(execution.UnsupportedMediaType, "the body's type is not supported").In("Content-Type")
	default:
		if status >= http.StatusBadRequest && status < http.StatusInternalServerError {
			return execution.NewAPIError(execution.InvalidRequest, "the request cannot be understood").In("request")
		}
		return nil
	}
}

func invalid(field, format string, args ...any) *execution.APIError {
	return execution.NewAPIError(execution.InvalidRequest, format, args...).In(field)
}
