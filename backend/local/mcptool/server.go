package mcptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/backend/local"
)

var (
	errClosed    = errors.New("the program is stopping")
	errSlowStart = errors.New("it is still being opened")
	errEnded     = errors.New("the session with it has just ended")
	errNoStart   = errors.New("it did not start or answer in time")
	errNoList    = errors.New("it did not give its list of tools in time")
)

// server is one MCP server and the session with it.
type server struct {
	cfg    Config
	at     address
	name   string // of the declaration that came first; for logs
	base   context.Context
	cancel context.CancelFunc
	habits *habits
	own    *claim         // immutable; nil: all requests are the program's own
	work   sync.WaitGroup // what runs in the background
	calls  sync.WaitGroup // that are on their way

	mu       sync.Mutex
	closed   bool                  // guarded by mu
	current  *session              // guarded by mu; nil: none
	opening  chan struct{}         // guarded by mu; closed when the attempt under way has ended
	tools    []*mcp.Tool           // guarded by mu; what the server listed last
	listed   bool                  // guarded by mu; tools is a list
	failures int                   // guarded by mu; attempts to open that failed in a row
	notUntil time.Time             // guarded by mu; the next attempt
	last     error                 // guarded by mu; why the last attempt failed
	legacy   bool                  // guarded by mu; the next attempt begins with the older handshake
	live     map[*session]struct{} // guarded by mu; also those that are retired

	mayAsk       bool          // guarded by mu; the protocol lets it ask in the middle of a call
	trying       chan struct{} // guarded by mu; closed when the first call of a tool has ended; nil: there is none
	spare        []*session    // guarded by mu; sessions for one call at a time that nobody uses
	alone        int           // guarded by mu; sessions for one call at a time, in all
	openingAlone int           // guarded by mu; those of them that are being opened
	freed        chan struct{} // guarded by mu; closed when there may be one for the next call; nil: nobody waits
}

func newServer(cfg Config, at address, name string) *server {
	base, cancel := context.WithCancel(context.Background())
	return &server{cfg: cfg, at: at, name: name, base: base, cancel: cancel, habits: &habits{}, live: map[*session]struct{}{}}
}

// acquire returns a session that is alive, opening one if need be, for at most the list timeout. Release it.
func (s *server) acquire(ctx context.Context) (*session, error) {
	patience := time.NewTimer(s.cfg.ListTimeout)
	defer patience.Stop()
	for {
		found, opened, err := s.take() //nolint:contextcheck // a session outlives who needs it first
		if err != nil || found != nil {
			return found, err
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-patience.C:
			return nil, &local.Error{
				Kind: local.Transient, Code: "mcp_unavailable", Message: s.says(errSlowStart), Err: errSlowStart,
			}
		}
	}
}

// take is one look: the session, or the end of the attempt to open one, which it begins when none is under way.
func (s *server) take() (*session, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch wait := time.Until(s.notUntil); {
	case s.closed:
		return nil, nil, &local.Error{Kind: local.Transient, Code: "mcp_unavailable", Message: s.says(errClosed), Err: errClosed}
	case s.current != nil && s.current.alive():
		s.current.users++
		return s.current, nil, nil
	case s.opening != nil:
		return nil, s.opening, nil
	case wait > 0:
		return nil, nil, s.notYet(wait)
	}
	s.begin()
	return nil, s.opening, nil
}

// notYet is the error while nothing is tried. s.mu is held.
func (s *server) notYet(wait time.Duration) error {
	reason := s.last
	if reason == nil {
		reason = errEnded
	}
	return &local.Error{
		Kind: local.Transient, Code: "mcp_unavailable", Message: s.says(reason), RetryAfter: wait, Err: reason,
	}
}

// begin opens a session in the background. s.mu is held.
func (s *server) begin() {
	ended := make(chan struct{})
	s.opening = ended
	legacy := s.legacy
	s.work.Go(func() {
		opened, tools, notices, err := s.open(legacy)
		s.mu.Lock()
		defer s.mu.Unlock()
		defer close(ended)
		s.opening = nil
		switch {
		case err != nil:
			s.failed(err)
		case s.closed:
			s.work.Go(opened.close)
		default:
			s.current, s.tools, s.listed, s.failures, s.last = opened, tools, true, 0, nil
			s.mayAsk = opened.client.InitializeResult().ProtocolVersion <= legacyProtocol
			s.notUntil = time.Now().Add(s.cfg.MinBackOff) // a server that dies at once is not started at once
			if opened.notices.Load() != notices {
				s.relist(opened)
			}
		}
	})
}

// failed notes an attempt that came to nothing. s.mu is held.
func (s *server) failed(err error) {
	wait := min(s.cfg.MinBackOff<<min(s.failures, 20), s.cfg.MaxBackOff)
	s.failures++
	s.legacy = !s.legacy // a server that leaves unknown requests unanswered
	s.last, s.notUntil = err, time.Now().Add(wait)
	if !s.closed {
		s.cfg.Logger.Warn("an MCP server cannot be opened", "tool", s.name, "error", err, "again", wait.String())
	}
}

// open makes a session and reads the list of tools, both in times of their own. notices is how often the server had said
// that its tools changed before the list was read.
func (s *server) open(legacy bool) (opened *session, tools []*mcp.Tool, notices int64, err error) {
	opened, err = s.connect(legacy)
	if err != nil {
		return nil, nil, 0, err
	}
	notices = opened.notices.Load()
	tools, err = s.list(opened)
	if err != nil {
		opened.close()
		return nil, nil, 0, err
	}
	s.cfg.Logger.Debug("an MCP server is open", "tool", s.name, "tools", len(tools))
	return opened, tools, notices, nil
}

// list reads all pages.
func (s *server) list(from *session) ([]*mcp.Tool, error) {
	ctx, cancel := context.WithTimeoutCause(s.base, s.cfg.ListTimeout, errNoList)
	defer cancel()
	ctx, sent := withTrip(ctx)
	type answer struct {
		tools []*mcp.Tool
		err   error
	}
	answered := make(chan answer, 1)
	go func() { // the SDK may be stuck in a write, which knows no context
		var all answer
		size := 0
		for tool, err := range from.client.Tools(ctx, nil) {
			if err != nil {
				all.err = err
				break
			}
			if size += sizeOf(tool); len(all.tools) >= maxTools || size > maxMessage {
				all.err = errLongList
				break
			}
			all.tools = append(all.tools, tool)
		}
		answered <- all
	}()
	select {
	case all := <-answered:
		switch {
		case all.err == nil:
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(all.err, errLongList):
			return nil, all.err
		default:
			return nil, plain("list its tools", sent, all.err)
		}
		return all.tools, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// maxTools bounds the list of one server; all of it may be as long as a message, in however many pages it comes.
const maxTools = 1000

// errLongList is the answer of a server with more tools than can be kept in mind.
var errLongList = fmt.Errorf("it lists more than %d tools, or more than %d MiB of them", maxTools, maxMessage>>20)

// sizeOf is about how long a listed tool is in bytes.
func sizeOf(tool *mcp.Tool) int {
	text, err := json.Marshal(tool)
	if err != nil { // it came as JSON
		return maxMessage
	}
	return len(text)
}

// changed takes the server's notice that its tools changed.
func (s *server) changed(of *session) {
	of.notices.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if (s.current == of || of.alone) && !s.closed {
		s.relist(of)
	}
}

// relist reads the list again in the background; a failure leaves it as it is. s.mu is held.
func (s *server) relist(of *session) {
	s.work.Go(func() {
		of.listing.Lock() // one at a time, so that the last one reads what is there after its notice
		defer of.listing.Unlock()
		tools, err := s.list(of)
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.current != of && !of.alone:
		case err != nil:
			s.cfg.Logger.Warn("the changed tools of an MCP server cannot be listed", "tool", s.name, "error", err)
		default:
			s.tools = tools
		}
	})
}

// known is the list as it is known. listed is false when the server was never asked.
func (s *server) known() (tools []*mcp.Tool, listed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tools, s.listed
}

// unlist forgets the list, which comes again with another session.
func (s *server) unlist() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.listed = nil, false
	if s.current != nil {
		s.retireLocked(s.current)
	}
	if s.failures == 0 { // it was sound: the next one may be opened at once
		s.notUntil = time.Time{}
	}
}

// wake opens a session in the background when there is none, for calls that will come.
func (s *server) wake() {
	s.mu.Lock()
	defer s.mu.Unlock()
	alive := s.current != nil && s.current.alive()
	if !s.closed && !alive && s.opening == nil && time.Now().After(s.notUntil) {
		s.begin()
	}
}

// release gives a session back; one that is retired ends with its last user.
func (s *server) release(used *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	used.users--
	if used.alone && used.users == 0 {
		s.giveBack(used)
		return
	}
	if used.retired && used.users == 0 && !s.closed {
		s.work.Go(used.close)
	}
}

// retire makes the next call open a new session. Calls in flight on this one go on; without any it ends.
func (s *server) retire(old *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retireLocked(old)
}

func (s *server) retireLocked(old *session) {
	old.retired = true
	if s.current == old {
		s.current = nil
	}
	if old.users == 0 && !s.closed {
		s.work.Go(old.close)
	}
}

// crowded retires a session on which a question was asked beside other calls. It is sound: the next one may be opened at once.
func (s *server) crowded(old *session) {
	s.retire(old)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failures == 0 {
		s.notUntil = time.Time{}
	}
}

// giveUp ends a session that takes no more messages.
func (s *server) giveUp(on *session) {
	s.retire(on)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.work.Go(on.close)
	}
}

// close ends the sessions and everything that runs in the background.
func (s *server) close() {
	s.mu.Lock()
	s.closed, s.current = true, nil
	var live []*session
	for one := range s.live {
		live = append(live, one)
	}
	s.mu.Unlock()
	s.cancel()
	for _, one := range live {
		one.close()
	}
	s.work.Wait()
}

// says is an error in words, with the server's name.
func (s *server) says(err error) string {
	return fmt.Sprintf("the MCP server of %s is not available: %v", s.name, err)
}
