package a2a

import (
	"context"
	"errors"
)

// MethodCard stands for the request for an agent card, which is no method of the protocol.
const MethodCard = "card"

// Observer is told of the requests to remote agents. It may be used by many goroutines.
type Observer interface {
	// Asking is told that an agent is asked by a method of the protocol, or for its card (MethodCard). It gives the context of the
	// request, and what to call once with what came of it: "ok", "interrupted" when whoever asked was stopped, or the code of the
	// failure.
	Asking(ctx context.Context, agent, method string) (asked context.Context, over func(code string))
}

const (
	codeOK          = "ok"
	codeInterrupted = "interrupted"
)

// asking begins a request by a method. over is to be called with its error.
type asking func(ctx context.Context, method string) (asked context.Context, over func(error))

// untold tells nobody.
func untold(ctx context.Context, _ string) (context.Context, func(error)) { return ctx, func(error) {} }

// asking tells the observer of a request of the call's agent.
func (c *call) asking(ctx context.Context, method string) (context.Context, func(error)) {
	if c.cfg.Observer == nil {
		return untold(ctx, method)
	}
	asked, over := c.cfg.Observer.Asking(ctx, c.agentID, method)
	return asked, func(err error) {
		switch {
		case err == nil:
			over(codeOK)
		case ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded): // else the remote took too long
			over(codeInterrupted)
		default:
			over(c.settings.failure(err).Code)
		}
	}
}

// request is ctx for one request by a method that is answered once, with its time. over is to be called with its error.
func (c *call) request(ctx context.Context, method string) (bounded context.Context, over func(error)) {
	asked, told := c.asking(ctx, method)
	bounded, done := c.settings.within(asked, c.settings.request)
	return bounded, func(err error) {
		done()
		told(err)
	}
}

// peer is the agent that the call is about.
func (c *call) peer(ctx context.Context) (*peer, error) { return c.cards.peer(ctx, c.asking) }
