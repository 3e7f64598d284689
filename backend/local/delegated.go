package local

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Bearer gives a token of an execution's delegation that is good for a moment, renewed if need be; the same one for as long as
// that is good. refused is a token that a service has answered 401 to, or zero: another one is given in its place, or the same
// when there is no other. It may be called by many goroutines. Its errors are *Error: permanent when there will be none, with a
// message for the model, and else transient.
//
// A 401 says that nothing was done: whoever gets one asks for another token once, and sends the request with it once more, of
// whatever recovery class the call is. What is answered then stays.
type Bearer func(ctx context.Context, refused execution.Credential) (execution.Credential, error)

// DelegatedSet is a ToolSet whose server is reached with the tokens of executions. By itself it asks its server nothing: what
// its tools are depends on who asks.
type DelegatedSet interface {
	ToolSet
	// For is the set as one claim of an execution has it. Nothing of it is shared with any other execution: each request to the
	// server carries a token of the bearer. When there will be no token, or the server takes none, Tools is one tool that says so
	// to the model. done ends what the set has open, in a moment and without waiting for it, or keeps it for a moment when the
	// execution goes on at once: a later claim of the same name may take it over. The bearer is not called any more.
	For(claim Claim) (set ToolSet, done func(goesOn bool))
}

// Claim is a claim of an execution as delegated sets have it.
type Claim struct {
	Bearer Bearer
	// Name is the same for all claims of one execution and one lease, and for no others; empty: there is none. It is not to be
	// shown.
	Name string
}

// For is the kit as one claim of an execution has it: its delegated sets are the claim's own. done ends them, or keeps for a
// moment what a claim that follows at once may go on with.
func (k *Kit) For(claim Claim) (own *Kit, done func(goesOn bool)) {
	var ends []func(bool)
	own = k
	for i, tool := range k.Tools {
		set, ok := tool.(DelegatedSet)
		if !ok {
			continue
		}
		if own == k {
			own = &Kit{Model: k.Model, Fallback: k.Fallback, Tools: append([]Tool(nil), k.Tools...)}
		}
		bound, end := set.For(claim)
		own.Tools[i] = bound
		ends = append(ends, end)
	}
	return own, func(goesOn bool) {
		for _, end := range ends {
			end(goesOn)
		}
	}
}

// Ask has delegated sets that own tools of these names ask their servers, so that the tools' specs say what the server says.
// A set that cannot say it now says it at the call, or the call fails.
func (k *Kit) Ask(ctx context.Context, names []string) {
	for _, tool := range k.Tools {
		set, ok := tool.(ToolSet)
		if !ok || !set.Spec().Delegated {
			continue
		}
		for _, name := range names {
			if set.Find(name) != nil {
				_, _ = set.Tools(ctx) // an error is the call's to tell
				break
			}
		}
	}
}
