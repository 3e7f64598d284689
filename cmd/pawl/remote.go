package main

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/config"
)

// remote is what the commands need of an API.
type remote interface {
	Create(ctx context.Context, key string, request execution.CreateRequest) (execution.Created, error)
	Execution(ctx context.Context, id execution.ID) (execution.View, error)
	List(ctx context.Context, query execution.ListQuery) (execution.ListPage, error)
	Follow(ctx context.Context, id execution.ID, after execution.Sequence) (execution.Stream, error)
	SubmitInput(ctx context.Context, id execution.ID, input execution.SubmitInput) (execution.View, error)
	Cancel(ctx context.Context, id execution.ID) (execution.Steered, error)
	Pause(ctx context.Context, id execution.ID) (execution.Steered, error)
	Resume(ctx context.Context, id execution.ID, request execution.ResumeRequest) (execution.Steered, error)
	Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error)
	Messages(ctx context.Context, id execution.ID, from, limit int) (execution.MessagePage, error)
	Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) (execution.CheckpointPage, error)
	ToolCalls(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (execution.ToolCallPage, error)
	Why(ctx context.Context, id execution.ID) (execution.Why, error)
	Fork(ctx context.Context, id execution.ID, key string, request execution.ForkRequest) (execution.Created, error)
	Release(ctx context.Context, id execution.ID) (execution.Steered, error)
	Delete(ctx context.Context, id execution.ID) error
	Bulk(ctx context.Context, request execution.BulkRequest) (execution.BulkResult, error)
	Agents(ctx context.Context) ([]execution.AgentSummary, error)
	StreamToken(ctx context.Context, id execution.ID) (execution.StreamToken, error)
	WatchAll(ctx context.Context, since time.Time, types ...string) iter.Seq2[execution.StreamItem, error]
}

// dialer makes the remote that the environment names; url is for messages.
type dialer func() (api remote, url string, err error)

func connect() (remote, string, error) {
	var cfg config.Client
	if err := config.Load(&cfg); err != nil {
		return nil, "", wrongUsage("%w", err)
	}
	api, err := client.New(cfg.URL, client.Config{APIKey: cfg.APIKey.Reveal()})
	if err != nil {
		return nil, "", wrongUsage("PAWL_URL: %w", err)
	}
	return api, cfg.URL, nil
}

// explain says what a person can do about an error of the API.
func explain(ctx context.Context, url string, err error) error {
	var coded *exit
	switch {
	case errors.As(err, &coded):
		return err // it is not the API's
	case ctx.Err() != nil:
		return &exit{code: exitInterrupted}
	case errors.Is(err, execution.ErrUnauthenticated):
		return fail("%s: set PAWL_API_KEY to a key that the API knows; `%s keys create` makes one", told(err), self())
	case errors.Is(err, execution.ErrForbidden):
		return fail("%s: what you may do is up to the role of the key in PAWL_API_KEY", told(err))
	case errors.Is(err, execution.ErrOverloaded):
		return fail("%s: try again%s", told(err), whenAgain(err))
	case errors.Is(err, execution.ErrConversationBusy):
		return fail("%s: wait for it, or say what is to happen with --on-busy", told(err))
	case errors.Is(err, execution.ErrIdempotencyKeyReused), errors.Is(err, execution.ErrGone):
		return fail("%s: what is new needs another --key", told(err))
	case errors.Is(err, execution.ErrUnavailable) && !answered(err):
		return fail("no API answers at %s: start it with `%s dev`, or name another one in PAWL_URL", url, self())
	case errors.Is(err, execution.ErrInternal) && !answered(err):
		return fail("%s: does PAWL_URL name an API? It is %s", told(err), url)
	case errors.Is(err, execution.ErrNotFound):
		return fail("%s: was the id copied whole, and is %s the right API?", told(err), url)
	default:
		return fail("%s", told(err))
	}
}

// whenAgain is when the API takes more, as far as it said so.
func whenAgain(err error) string {
	var problem *execution.APIError
	if errors.As(err, &problem) && problem.RetryAfter > 0 {
		return " in " + rough(problem.RetryAfter)
	}
	return " later"
}

// told is an error of the API in the words of its answer: the field that was wrong, and what is wrong with it.
func told(err error) string {
	var problem *execution.APIError
	switch {
	case !errors.As(err, &problem) || problem.Detail == "":
		return err.Error()
	case problem.Field == "" || problem.Field == "id" || strings.HasPrefix(problem.Detail, problem.Field+" "):
		return problem.Detail // the id is what was typed: to name it says nothing
	default:
		return problem.Field + ": " + problem.Detail
	}
}

// answered reports whether the error came from the API itself and not from the way to it.
func answered(err error) bool {
	var problem *execution.APIError
	return errors.As(err, &problem) && problem.Cause() == nil
}

func parseID(text string) (execution.ID, error) {
	id, err := execution.ParseID(text)
	if err != nil {
		return "", wrongUsage("%q is no execution id: it begins with exec_ and is printed by `%s submit`", text, self())
	}
	return id, nil
}
