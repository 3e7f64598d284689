package dashboard

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// statusClosed is for whoever went away before the answer.
const statusClosed = 499

// problem is an error as the API words it.
type problem struct {
	Status int
	Code   execution.ErrorCode
	Detail string
	Field  string
	Retry  int // seconds; 0: not said
}

// problemOf is what is shown of an error. What went wrong inside is logged and stays here.
func (p *Pages) problemOf(r *http.Request, err error) *problem {
	var api *execution.APIError
	if r.Context().Err() != nil { // nobody is there to be told, and nothing went wrong here
		return &problem{Status: statusClosed, Code: execution.Unavailable, Detail: "the client went away"}
	}
	if !errors.As(err, &api) {
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			api = execution.NewAPIError(execution.Unavailable, "the request was cut off")
		} else {
			api = execution.NewAPIError(execution.Internal, "")
		}
	}
	if api.Code == execution.Internal {
		api = execution.NewAPIError(execution.Internal, "the server failed; its log has more").Because(err)
	}
	shown := &problem{Status: api.Status, Code: api.Code, Detail: api.Detail, Field: api.Field}
	if api.RetryAfter > 0 {
		shown.Retry = int(math.Ceil(api.RetryAfter.Seconds()))
	}
	if api.Status >= http.StatusInternalServerError {
		p.cfg.Logger.ErrorContext(r.Context(), "a page failed",
			"method", r.Method, "path", r.URL.Path, "status", api.Status, "error", err, "cause", api.Cause())
	}
	return shown
}

// retryAfter says when to come again, where that is known.
func retryAfter(w http.ResponseWriter, problem *problem) {
	if problem.Retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(problem.Retry))
	}
}

// fail answers with an error as a page.
func (p *Pages) fail(w http.ResponseWriter, r *http.Request, err error) {
	problem := p.problemOf(r, err)
	retryAfter(w, problem)
	page := p.page(r, http.StatusText(problem.Status), "")
	page.Problem = problem
	p.show(w, r, problem.Status, "problem", page)
}
