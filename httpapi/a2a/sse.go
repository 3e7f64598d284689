package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// told is an event of a stream on its way to the client, or the error that ends it.
type told struct {
	event sdk.Event
	err   error
}

// stream answers with an event stream: each event with its place in the log as id, if it has one, and a comment when nothing
// happens. A comment stands alone on its line: an empty line behind it would be an event without data to some clients.
// end ends the context of the events.
func (f *Face) stream(
	ctx context.Context, end func(), w http.ResponseWriter, r *http.Request, request rpcRequest, events iter.Seq2[sdk.Event, error],
) {
	out, items := f.sse(w, request.ID), tellAll(ctx, events)
	defer func() {
		end()
		for range items { // until the events have ended
		}
	}()
	begin, beat := time.NewTimer(f.cfg.BeginAfter), time.NewTicker(f.cfg.Heartbeat)
	defer begin.Stop()
	defer beat.Stop()
	for {
		var err error
		select {
		case item, open := <-items:
			switch {
			case !open:
				out.begin()
				return
			case item.err != nil && out.begun:
				f.breakOff(ctx, out, item.err)
				return
			case item.err != nil:
				f.refuse(w, r, request, item.err)
				return
			default:
				err = out.event(item.event)
			}
		case <-begin.C:
			out.begin()
		case <-beat.C:
			err = out.beat()
		}
		if err != nil {
			return // the client has gone, and comes back if it likes
		}
	}
}

// tellAll hands over the events until they have ended, or ctx has.
func tellAll(ctx context.Context, events iter.Seq2[sdk.Event, error]) <-chan told {
	items := make(chan told)
	go func() {
		defer close(items)
		for event, err := range events {
			select {
			case items <- told{event, err}:
			case <-ctx.Done():
				return
			}
		}
	}()
	return items
}

// breakOff ends a stream with an error.
func (f *Face) breakOff(ctx context.Context, out *sseWriter, err error) {
	if answer, _ := answerOf(err); answer.Code == a2arpc.Internal && ctx.Err() == nil {
		f.cfg.Logger.ErrorContext(ctx, "a2a stream failed", "error", err)
	}
	_ = out.fail(err) // a client that has gone needs no answer
}

// sseWriter writes the text of an event stream.
type sseWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	id      json.RawMessage // of the request
	begun   bool
}

func (f *Face) sse(w http.ResponseWriter, id json.RawMessage) *sseWriter {
	return &sseWriter{w: w, control: http.NewResponseController(w), timeout: f.cfg.WriteTimeout, id: id}
}

// begin says that a stream follows.
func (s *sseWriter) begin() {
	if s.begun {
		return
	}
	s.begun = true
	header := s.w.Header()
	header.Set("Content-Type", contentStream)
	header.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold events back
	s.w.WriteHeader(http.StatusOK)
	_ = s.control.Flush() // the next write tells
}

// beat says that the stream is alive, once it has begun.
func (s *sseWriter) beat() error {
	if !s.begun {
		return nil
	}
	return s.write([]byte(":\n"))
}

func (s *sseWriter) event(event sdk.Event) error {
	data, err := json.Marshal(rpcResponse{Version: a2arpc.Version, ID: s.id, Result: event})
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	var text bytes.Buffer
	if sequence, is := event.Meta()[metaSequence].(uint64); is {
		fmt.Fprintf(&text, "id: %d\n", sequence)
	}
	fmt.Fprintf(&text, "data: %s\n\n", data)
	return s.write(text.Bytes())
}

func (s *sseWriter) fail(err error) error {
	answer, _ := answerOf(err)
	data, err := json.Marshal(rpcFailure{Version: a2arpc.Version, ID: s.id, Error: answer})
	if err != nil {
		return fmt.Errorf("encode error: %w", err)
	}
	return s.write(fmt.Appendf(nil, "data: %s\n\n", data))
}

func (s *sseWriter) write(text []byte) error {
	s.begin()
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // not every writer has one
	if _, err := s.w.Write(text); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return s.control.Flush()
}
