package mcptool

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// floor is the calls in flight on one session and the questions that the server asks meanwhile. A question does not say
// which call it belongs to. With one call in flight it is that one's. With several, it is held until the others have
// ended; from then on the tool is called on a session of its own.
type floor struct {
	mu    sync.Mutex
	calls map[*flight]struct{} // guarded by mu
	held  []*heldQuestion      // guarded by mu; in their order
}

// flight is one call on its way.
type flight struct {
	tool string        // the server's name
	talk *talk         // guarded by the floor's mu
	used []bool        // guarded by the floor's mu; the talk's answers that this sending has had
	open *question     // guarded by the floor's mu; what a person must be asked
	why  string        // guarded by the floor's mu; why the person is asked again
	lost bool          // guarded by the floor's mu; one of several calls that asked at once
	stop chan struct{} // closed when the server was told that nobody answers: the call is of no use any more
}

// heldQuestion waits until it is known whose it is.
type heldQuestion struct {
	question question
	answer   chan *mcp.ElicitResult // of capacity 1
}

// enter puts a call on the floor.
func (f *floor) enter(tool string, t *talk) *flight {
	in := &flight{tool: tool, talk: t, used: make([]bool, len(t.Answers)), stop: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[*flight]struct{}{}
	}
	f.calls[in] = struct{}{}
	return in
}

// leave takes a call off the floor. It returns the tools that are known to ask because of it.
func (f *floor) leave(in *flight) (askers []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, in)
	return f.settle()
}

// ask answers a question of the server: from what a person said before, or with the notice that nobody answers yet. With
// several calls in flight it waits; crowded is called then.
func (f *floor) ask(ctx context.Context, params *mcp.ElicitParams, crowded func(), askers func([]string)) (*mcp.ElicitResult, error) {
	q, err := asks(params)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	f.mu.Lock()
	if len(f.calls) == 0 {
		f.mu.Unlock()
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "questions are answered during tool calls only"}
	}
	held := &heldQuestion{question: q, answer: make(chan *mcp.ElicitResult, 1)}
	f.held = append(f.held, held)
	waits := len(f.calls) > 1
	known := f.settle()
	f.mu.Unlock()
	if waits {
		crowded()
	}
	askers(known)
	select {
	case result := <-held.answer:
		return result, nil
	case <-ctx.Done():
		f.forget(held)
		return nil, ctx.Err()
	}
}

func (f *floor) forget(held *heldQuestion) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.held {
		if f.held[i] == held {
			f.held = append(f.held[:i], f.held[i+1:]...)
			return
		}
	}
}

// settle answers the held questions when it is known whose they are, or that it cannot be known: as many are held as
// calls are in flight. It returns the tools that ask. f.mu is held.
func (f *floor) settle() (askers []string) {
	if len(f.held) == 0 || (len(f.calls) > 1 && len(f.held) < len(f.calls)) {
		return nil
	}
	alone := len(f.calls) == 1
	for in := range f.calls {
		askers = append(askers, in.tool)
		if !alone {
			in.lost = true
		}
	}
	for _, held := range f.held {
		result := &mcp.ElicitResult{Action: canceled}
		for in := range f.calls {
			if alone {
				result = in.hear(held.question)
			}
		}
		held.answer <- result
	}
	f.held = nil
	return askers
}

// hear answers a question of this call. The floor's mu is held.
func (in *flight) hear(q question) *mcp.ElicitResult {
	nobody := &mcp.ElicitResult{Action: canceled}
	if in.open != nil || in.lost {
		return nobody
	}
	key := q.key()
	for i, known := range in.talk.Answers {
		if in.used[i] || known.Key != key {
			continue
		}
		result, problem := known.result(q.Schema)
		if problem == "" {
			in.used[i] = true
			return result
		}
		in.why = problem // the person is asked again
		in.talk.Answers = append(in.talk.Answers[:i:i], in.talk.Answers[i+1:]...)
		in.used = append(in.used[:i:i], in.used[i+1:]...)
		break
	}
	in.open = &q
	close(in.stop)
	return nobody
}

// asked is the question that a person must answer before the call can go on, and whether it is not known which of several
// calls asked.
func (f *floor) asked(in *flight) (q *question, why string, lost bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return in.open, in.why, in.lost
}
