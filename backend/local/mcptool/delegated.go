package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// DelegatedSet is the tools of a server that is reached as whoever submitted an execution. Each claim has sessions of its own,
// on connections of their own, and a list of tools of its own: another caller may be shown other ones.
type DelegatedSet struct {
	servers  *Servers
	at       address
	declared agent.Tool
}

var _ local.DelegatedSet = (*DelegatedSet)(nil)

// NewDelegated makes the tools of a server declared with auth: delegation. Errors name the key and the variable, never a value.
func (s *Servers) NewDelegated(declared agent.Tool, lookup local.Lookup) (*DelegatedSet, error) {
	at, err := resolve(declared, lookup)
	if err != nil {
		return nil, err
	}
	if at.URL == "" {
		return nil, errors.New("auth: a server that is started is not given tokens")
	}
	return &DelegatedSet{servers: s, at: at, declared: declared}, nil
}

// Spec stands for the set; no model is told of it.
func (d *DelegatedSet) Spec() local.ToolSpec { return setSpec(d.declared) }

// Call refuses: a set is not called, its tools are.
func (d *DelegatedSet) Call(context.Context, local.Invocation, local.Sink) (local.Answer, error) {
	return local.Answer{}, notCalled(d.declared)
}

// Tools is what a run that acts for nobody is told.
func (d *DelegatedSet) Tools(ctx context.Context) ([]local.Tool, error) {
	return d.nobodys().Tools(ctx)
}

// Find is a tool whose calls fail.
func (d *DelegatedSet) Find(name string) local.Tool { return d.nobodys().Find(name) }

// nobodys is the set of a run that acts for nobody. It opens nothing, so nothing is to be ended.
func (d *DelegatedSet) nobodys() *Set {
	return d.set(d.bind(func(context.Context, execution.Credential) (execution.Credential, error) {
		return execution.Credential{}, &local.Error{
			Kind: local.Permanent, Code: "delegation_missing", Message: "they need a delegation, and this run acts for nobody",
		}
	}))
}

// For implements local.DelegatedSet.
func (d *DelegatedSet) For(claim local.Claim) (set local.ToolSet, done func(goesOn bool)) {
	name := d.keepName(claim)
	bound := d.servers.kept(name)
	if bound == nil {
		bound = d.bind(claim.Bearer)
		d.servers.lend(bound)
	} else {
		bound.own.tokens.begin(claim.Bearer)
	}
	var once sync.Once
	return d.set(bound), func(goesOn bool) {
		once.Do(func() {
			if !goesOn || !d.servers.keep(name, bound) {
				d.servers.take(bound)
			}
		})
	}
}

func (d *DelegatedSet) set(bound *server) *Set {
	return &Set{server: bound, declared: d.declared, cfg: d.servers.cfg}
}

func (d *DelegatedSet) bind(source local.Bearer) *server {
	own := newServer(d.servers.cfg, d.at, d.declared.Name)
	own.habits = d.servers.habitsOf(d.at)
	own.own = &claim{tokens: tokens{source: source}}
	return own
}

// lend keeps in mind who reaches a server with tokens, so that Close ends it.
func (s *Servers) lend(own *server) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		own.close()
		return
	}
	s.lent[own] = struct{}{}
}

// take ends what was lent, in the background: calls that were given up tell the server so before.
func (s *Servers) take(own *server) {
	own.own.tokens.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.lent[own]; !ok || s.closed {
		return // Close ends it
	}
	s.ending.Go(func() {
		own.finish()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.lent, own)
	})
}

// habitsOf is what is known of the tools of an address.
func (s *Servers) habitsOf(at address) *habits {
	key := at.key()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.habits[key] == nil {
		s.habits[key] = &habits{}
	}
	return s.habits[key]
}

// finish ends the server's sessions when the calls on them have, or after the close timeout.
func (s *server) finish() {
	returned, idle := make(chan struct{}), make(chan struct{})
	go func() {
		s.calls.Wait()
		close(returned)
		select {
		case <-s.own.farewells.wait():
			close(idle)
		case <-s.base.Done():
		}
	}()
	patience := time.NewTimer(s.cfg.CloseTimeout)
	defer patience.Stop()
	select {
	case <-idle:
	case <-patience.C:
	case <-s.base.Done():
	}
	s.close()
	<-returned // a call ends with its session
}

// claim is what makes a server one claim's own.
type claim struct {
	tokens    tokens
	farewells farewells
}

// tokens is where the requests of a claim have their tokens from.
type tokens struct {
	mu     sync.Mutex
	source local.Bearer         // guarded by mu; of the claim
	last   execution.Credential // guarded by mu
	over   bool                 // guarded by mu; the claim is, and nothing is asked of its source
}

// now is a token that is good. When the claim is over it is the last one, for the notices that end what is open, and so it is for
// the end of a session: nothing is renewed for them.
func (t *tokens) now(ctx context.Context, parting bool) (execution.Credential, error) {
	t.mu.Lock()
	over, last := t.over, t.last
	t.mu.Unlock()
	switch {
	case (over || parting) && !last.IsZero():
		return last, nil
	case over:
		return last, &local.Error{Kind: local.Transient, Code: "canceled", Message: "the claim of the execution has ended"}
	}
	return t.ask(ctx, execution.Credential{})
}

// instead is a token in place of one that the server has refused; the same when there is no other.
func (t *tokens) instead(ctx context.Context, refused execution.Credential) (execution.Credential, error) {
	t.mu.Lock()
	over := t.over
	t.mu.Unlock()
	if over {
		return refused, nil
	}
	return t.ask(ctx, refused)
}

func (t *tokens) ask(ctx context.Context, refused execution.Credential) (execution.Credential, error) {
	t.mu.Lock()
	source := t.source
	t.mu.Unlock()
	token, err := source(ctx, refused)
	if err == nil {
		t.mu.Lock()
		t.last = token
		t.mu.Unlock()
	}
	return token, err
}

func (t *tokens) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
}

// begin has the tokens come from another claim of the same execution.
func (t *tokens) begin(source local.Bearer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source, t.over = source, false
}

// withoutToken is what the model is told when the server cannot be asked as the caller: one tool that says why. Whatever may
// pass is the error that it was.
func (s *Set) withoutToken(err error) ([]local.Tool, error) {
	why := s.refusedBy(err)
	if why == "" {
		return nil, err
	}
	s.server.unlist() // what it listed before is the caller's no more
	t := s.unlisted(s.declared.Served("unavailable"))
	t.spec.Description = fmt.Sprintf("The tools of %s cannot be used: %s.", s.declared.Name, why)
	t.spec.Parameters = json.RawMessage(`{"type":"object"}`)
	return []local.Tool{t}, nil
}

// refusedBy is why a server will not be reached as the caller; empty when it may be later, or is the program's own.
func (s *Set) refusedBy(err error) string {
	var classified *local.Error
	switch {
	case s.server.own == nil:
		return ""
	case errors.Is(err, errTokenRefused):
		return "their server does not take the caller's token"
	}
	for cause := err; errors.As(cause, &classified); cause = classified.Err {
		if classified.Kind == local.Permanent {
			return classified.Message
		}
		if classified.Err == nil {
			break
		}
	}
	return ""
}

// unopened is a call for which there is no session: an error result when the server refuses whoever submitted, as it would
// refuse the call.
func (t *Tool) unopened(call execution.ToolCall, err error) (local.Answer, error) {
	why := t.set.refusedBy(err)
	if why == "" {
		return local.Answer{}, err
	}
	result := execution.ErrorResult(call, execution.ToolExecution, fmt.Sprintf("the tool %s cannot be used: %s", t.spec.Name, why))
	return local.Answer{Result: &result}, nil
}
