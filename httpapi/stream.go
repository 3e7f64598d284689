package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pawl-run/pawl/execution"
)

// stream answers with an event stream: events with their sequence as id, frames without one, a comment when nothing
// happens. It ends after the terminal event, when the client goes or is too slow, and when the server drains. Whoever has
// read the log of an ended execution to its end gets 204, which tells a browser not to come back.
func (s *Server) stream(c echo.Context, id execution.ID, after execution.Sequence, wanted filter) error {
	release, err := s.hold(c)
	if err != nil {
		return err
	}
	defer release()
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
	w := s.open(c, wanted)
	if err == nil {
		err = w.item(first)
	} else {
		err = w.beat() // sends the headers: the client knows that it is connected
	}
	return s.copy(ctx, items, w, err)
}

// everything answers with the events and frames of all executions that the caller may see, from now on. Nothing is replayed, so
// nothing has an id. The first comment says that the stream is in force.
func (s *Server) everything(c echo.Context) error {
	if _, err := negotiate(c.Request(), typeStream); err != nil {
		return err
	}
	query, err := parameters(c, paramTypes)
	if err != nil {
		return err
	}
	wanted, err := types(query)
	if err != nil {
		return err
	}
	release, err := s.hold(c)
	if err != nil {
		return err
	}
	defer release()
	ctx, cancel := s.admitted(c)
	defer cancel()
	items, err := s.link(c).FollowAll(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = items.Close() }() // nothing more is read
	w := s.open(c, wanted)
	return s.copy(ctx, items, w, w.beat())
}

// copy writes a stream until it ends, whatever the reason. The client comes back, or knows that it need not.
func (s *Server) copy(ctx context.Context, items execution.Stream, w *streamWriter, err error) error {
	now := expired(ctx)
	for err == nil {
		err = s.forward(ctx, now, items, w)
	}
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, errGone):
		return nil
	case s.stopping.Err() != nil:
		_ = w.retry(minRetry + rand.N(maxRetry-minRetry)) // a hint: the client comes back without it, too
		return nil
	case ctx.Err() != nil:
		return nil
	case errors.Is(err, execution.ErrOverloaded):
		s.cfg.Logger.InfoContext(ctx, "a stream is cut off", "reason", err)
		return nil
	default:
		return err // the answer has begun: it is logged, and the client comes back
	}
}

// When the server drains, its clients come back at different times within these bounds, so that the other replicas are not
// asked for all at once.
const (
	minRetry = 200 * time.Millisecond
	maxRetry = 2 * time.Second
)

// expired is a context that has ended: a stream asked with it gives what it has, without waiting.
func expired(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// forward writes the next item, or a heartbeat. What is written is flushed only before it has to wait, so a long log
// leaves in large pieces.
func (s *Server) forward(ctx, now context.Context, items execution.Stream, w *streamWriter) error {
	item, err := items.Next(now)
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
		return w.beat()
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
	filter  filter
	skipped execution.Sequence // the last event, if the filter kept it back
}

func (s *Server) open(c echo.Context, wanted filter) *streamWriter {
	header := c.Response().Header()
	header.Set(echo.HeaderContentType, typeStream)
	header.Set("X-Accel-Buffering", "no") // a proxy that buffers would hold events back
	c.Response().WriteHeader(http.StatusOK)
	s.cfg.Observer.Streaming(c.Path(), 1)
	c.Set(streamingKey, true)
	return &streamWriter{
		writer: c.Response(), control: http.NewResponseController(c.Response().Writer), timeout: s.cfg.WriteTimeout,
		filter: wanted,
	}
}

// item writes an event or a frame, if the filter lets it pass. Of a stream of all executions it says which one it is of, and
// has no id: there is no place in such a stream that one could come back to.
func (w *streamWriter) item(item execution.StreamItem) error {
	wide := item.Execution != ""
	if !w.filter.carries(item) && (wide || !ends(item)) {
		if item.Event != nil && !wide {
			w.skipped = item.Event.Sequence
		}
		return nil
	}
	kind, data, err := encode(item)
	if err != nil {
		return err
	}
	id := ""
	if item.Event != nil && !wide {
		id, w.skipped = fmt.Sprintf("id: %d\n", item.Event.Sequence), 0
	}
	return w.write(fmt.Appendf(nil, "%sevent: %s\ndata: %s\n\n", id, kind, data))
}

func encode(item execution.StreamItem) (kind string, data []byte, err error) {
	if item.Frame != nil {
		kind = string(item.Frame.Type)
		data, err = json.Marshal(item.Frame)
	} else {
		kind = string(item.Event.Payload.EventType())
		data, err = json.Marshal(item.Event)
	}
	if err != nil {
		return "", nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	if item.Execution != "" {
		data = append(fmt.Appendf(nil, `{"executionId":%q,`, string(item.Execution)), data[1:]...)
	}
	return kind, data, nil
}

// beat is a heartbeat. It takes the client's cursor past what the filter kept back, so that it need not be read again.
func (w *streamWriter) beat() error {
	text := ":\n\n"
	if w.skipped > 0 {
		text, w.skipped = fmt.Sprintf("id: %d\n:\n\n", w.skipped), 0
	}
	if err := w.write([]byte(text)); err != nil {
		return err
	}
	return w.flush()
}

// retry tells the client when to come back.
func (w *streamWriter) retry(after time.Duration) error {
	if err := w.write(fmt.Appendf(nil, "retry: %d\n\n", after.Milliseconds())); err != nil {
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
