package wire

import (
	"context"
	"strings"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// MaxCalls bounds the calls of one answer.
const MaxCalls = 1000

// Answer is what is known of an answer under way, whichever provider gives it.
type Answer struct {
	Sink   local.Sink
	Text   strings.Builder
	Usage  *execution.Usage // as the provider reports it; nil: it has not
	Begun  bool             // something of it has arrived
	Said   int              // bytes of text, reasoning and arguments that arrived
	Finish string           // the provider's word for why it ended; empty: it has not
}

// Say takes a piece of the text, and hands it on.
func (a *Answer) Say(text string) {
	if text == "" {
		return
	}
	a.Text.WriteString(text)
	a.Sink.Frame(execution.Frame{Type: execution.FrameTextDelta, Text: text})
}

// Ended reports whether the answer said how it ended: it is whole then, whatever becomes of the connection afterwards.
func (a *Answer) Ended() bool { return a.Finish != "" }

// Partial is what is worth keeping of an answer that failed.
func (a *Answer) Partial() local.ModelResponse { return local.ModelResponse{Usage: a.Usage} }

// Broken is what Generate returns of an answer that err broke off: what of it has to be paid is no less for that.
func (a *Answer) Broken(ctx context.Context, request local.ModelRequest, err error) (local.ModelResponse, error) {
	response := a.Partial()
	if a.Begun || unanswered(ctx, err) {
		response.Usage = request.UsageSoFar(a.Usage, a.Said, false)
	}
	return response, err
}

// Charged is the response of an answer that came to its end, with its usage.
func (a *Answer) Charged(request local.ModelRequest, response local.ModelResponse) local.ModelResponse {
	if a.Begun {
		response.Usage = request.UsageSoFar(a.Usage, a.Said, a.Ended())
	}
	return response
}
