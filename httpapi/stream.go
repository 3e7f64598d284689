package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// stream answers with an event stream: events with their sequence as id, frames without one, a comment when nothing
// happens. It ends after the terminal event, when the client goes, and when the server drains. Whoever has read the log
// of an ended execution to its end gets 204, which tells a browser not to come back.
func (s *Server) stream(c echo.Context, id execution.ID, after execution.Sequence) error {
	ctx, cancel := s.admitted(c)
	defer cancel()
	items, err := s.link(c).Follow(ctx, id, after)
	if err != nil {
		return err
	}
	defer func() { _ = items.Close() }() // nothing more is read
	first, err := items.Next(expired(ctx))
	if errors.Is(err, io.EOF) {
		return c.NoContent(http.StatusNoContent)
	}
	w := s.open(c)
	if err == nil {
		err = w.item(first)
	} else {
		err = w.comment() // sends the headers: the client knows that it is connected
	}
	for err == nil {
		err = s.forward(ctx, items, w)
	}
	switch {
	case errors.Is(err, io.EOF), ctx.Err() != nil, errors.Is(err, errGone):
		return nil
	default:
		return err // the answer has begun: it is logged, and the client comes back
	}
}

// expired is a context that has ended: a stream asked with it gives what it has, without waiting.
func expired(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// forward writes the next item, or a heartbeat. What is written is flushed only before it has to wait, so a long log
// leaves in large pieces.
func (s *Server) forward(ctx context.Context, items execution.Stream, w *streamWriter) error {
	item, err := items.Next(expired(ctx))
	if err == nil {
		return w.item(item)
	}
	if errors.Is(err, io.EOF) {
		return errors.Join(w.flush(), err)
	}
	if err := w.flush(); err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, s.cfg.Heartbeat)
	defer cancel()
	item, err = items.Next(bounded)
	switch {
	case err == nil:
		return w.item(item)
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return w.comment()
	case errors.Is(err, io.EOF):
		return errors.Join(w.flush(), err)
	default:
		return err
	}
}

// errGone: the client takes no more.
var errGone = errors.New("the client has gone")

// streamWriter writes the text of an event stream.
type streamWriter struct {
	writer  io.Writer
	control *http.ResponseController
	timeout time.Duration
}

func (s *Server) open(c echo.Context) *streamWriter {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, typeStream)
	header.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold events back
	c.Response().WriteHeader(http.StatusOK)
	return &streamWriter{
		writer: c.Response(), control: http.NewResponseController(c.Response().Writer), timeout: s.cfg.WriteTimeout,
	}
}

func (w *streamWriter) item(item execution.StreamItem) error {
	if item.Frame != nil {
		data, err := json.Marshal(item.Frame)
		if err != nil {
			return fmt.Errorf("encode frame: %w", err)
		}
		return w.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", item.Frame.Type, data))
	}
	data, err := json.Marshal(item.Event)
	if err != nil {
		return fmt.Errorf("encode event %d: %w", item.Event.Sequence, err)
	}
	return w.write(fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n",
		item.Event.Sequence, item.Event.Payload.EventType(), data))
}

// comment is a heartbeat.
func (w *streamWriter) comment() error {
	if err := w.write([]byte(":\n\n")); err != nil {
		return err
	}
	return w.flush()
}

func (w *streamWriter) write(text []byte) error {
	_ = w.control.SetWriteDeadline(time.Now().Add(w.timeout)) // not every writer has one
	if _, err := w.writer.Write(text); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}

func (w *streamWriter) flush() error {
	if err := w.control.Flush(); err != nil {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return nil
}
