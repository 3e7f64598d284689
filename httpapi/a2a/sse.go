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
	ctx context.Context, end func(), w http.ResponseWriter, id json.RawMessage, events iter.Seq2[sdk.Event, error],
) {
	out := &sseWriter{w: w, control: http.NewResponseController(w), timeout: f.cfg.WriteTimeout, id: id}
	out.begin()
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
	defer func() {
		end()
		for range items { // until the events have ended
		}
	}()
	beat := time.NewTicker(f.cfg.Heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case item, open := <-items:
			switch {
			case !open:
				return
			case item.err != nil:
				f.logFault(ctx, item.err)
				_ = out.fail(item.err) // it is the last
				return
			default:
				err = out.event(item.event)
			}
		case <-beat.C:
			err = out.write([]byte(":\n"))
		}
		if err != nil {
			return // the client has gone, and comes back if it likes
		}
	}
}

func (f *Face) logFault(ctx context.Context, err error) {
	if answer, _ := answerOf(err); answer.Code == a2arpc.Internal && ctx.Err() == nil {
		f.cfg.Logger.ErrorContext(ctx, "a2a stream failed", "error", err)
	}
}

// sseWriter writes the text of an event stream.
type sseWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration
	id      json.RawMessage // of the request
}

func (s *sseWriter) begin() {
	header := s.w.Header()
	header.Set("Content-Type", contentStream)
	header.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold events back
	s.w.WriteHeader(http.StatusOK)
	_ = s.control.Flush() // the next write tells
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
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // not every writer has one
	if _, err := s.w.Write(text); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return s.control.Flush()
}
