package mcptool

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/execution"
)

// legacyProtocol is the newest version of the protocol whose handshake is the request initialize.
const legacyProtocol = "2025-11-25"

// session is one session with a server.
type session struct {
	client  *mcp.ClientSession
	ended   chan struct{} // closed when the connection is gone
	end     func()        // immutable; ends the process or the connections
	once    sync.Once
	listing sync.Mutex
	http    bool

	patience time.Duration
	notices  atomic.Int64 // how often the server said that its tools changed

	answered atomic.Bool // a call was answered
	tokens   atomic.Int64
	watchers sync.Map // progress token → func(*mcp.ProgressNotificationParams)

	floor floor

	users   int  // guarded by the server's mu
	retired bool // guarded by the server's mu
	alone   bool // guarded by the server's mu; it serves one call at a time
}

func (s *session) alive() bool {
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// close ends the session and waits for a started server's end. It may be called more than once. A server behind HTTP is
// told, within patience; closing the standard input tells a started one.
func (s *session) close() {
	s.once.Do(func() {
		closed := make(chan struct{})
		tell := func() {
			defer close(closed)
			_ = s.client.Close() // the connection is gone either way
		}
		if !s.http {
			s.end()
			go tell()
		} else {
			go tell()
			select {
			case <-closed:
			case <-time.After(s.patience):
			}
			s.end()
		}
		<-closed
	})
	<-s.ended
}

// connect starts the server or reaches it, and shakes hands.
func (s *server) connect(legacy bool) (*session, error) {
	made := &session{ended: make(chan struct{}), http: s.at.URL != "", patience: s.cfg.CloseTimeout}
	transport, end, err := s.transport()
	if err != nil {
		return nil, err
	}
	made.end = sync.OnceFunc(end)
	client := mcp.NewClient(&mcp.Implementation{Name: "pawl", Version: s.cfg.Version}, &mcp.ClientOptions{
		// Servers may ask people, by forms, and nothing else.
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
		ElicitationHandler: func(ctx context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return made.floor.ask(ctx, request.Params, func() { s.crowded(made) },
				func(tools []string) { s.habits.note(asking, tools...) })
		},
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { s.changed(made) }, //nolint:contextcheck // the list is read after the notice
		ProgressNotificationHandler: func(_ context.Context, request *mcp.ProgressNotificationClientRequest) {
			made.progress(request.Params)
		},
	})
	ctx, cancel := context.WithTimeoutCause(s.base, s.cfg.StartTimeout, errNoStart)
	defer cancel()
	ctx, sent := withTrip(ctx)
	options := &mcp.ClientSessionOptions{}
	if legacy {
		options.ProtocolVersion = legacyProtocol
	}
	made.client, err = client.Connect(ctx, transport, options)
	if err != nil {
		made.end()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, plain("open it", sent, err)
	}
	s.watch(made)
	return made, nil
}

// watch notices the end of the connection and clears away what is left.
func (s *server) watch(made *session) {
	s.mu.Lock()
	s.live[made] = struct{}{}
	s.mu.Unlock()
	s.work.Go(func() {
		_ = made.client.Wait() // why it ended is not told to anybody; the calls in flight have their own errors
		made.end()
		_ = made.client.Close() // what the SDK keeps of a connection that ended by itself
		close(made.ended)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.live, made)
		if s.current == made {
			s.current = nil
			if !s.closed {
				s.cfg.Logger.Warn("the session with an MCP server has ended", "tool", s.name)
			}
		}
	})
}

// follow hands the progress of a call to seen until stop is called.
func (s *session) follow(seen func(*mcp.ProgressNotificationParams)) (token string, stop func()) {
	token = strconv.FormatInt(s.tokens.Add(1), 10)
	s.watchers.Store(token, seen)
	return token, func() { s.watchers.Delete(token) }
}

func (s *session) progress(params *mcp.ProgressNotificationParams) {
	if seen, ok := s.watchers.Load(fmt.Sprint(params.ProgressToken)); ok {
		seen.(func(*mcp.ProgressNotificationParams))(params)
	}
}

// progressFrame is a line about how far a call has come.
func progressFrame(call execution.CallID, p *mcp.ProgressNotificationParams) execution.Frame {
	text := strconv.FormatFloat(p.Progress, 'g', -1, 64)
	if p.Total > 0 {
		text += "/" + strconv.FormatFloat(p.Total, 'g', -1, 64)
	}
	if p.Message != "" {
		text += " " + p.Message
	}
	return execution.Frame{Type: execution.FrameToolProgress, CallID: call, Text: text + "\n"}
}
