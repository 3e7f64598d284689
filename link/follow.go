package link

import (
	"context"
	"io"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// readPage bounds what one read of the log brings.
const readPage = 100

// Follow implements RuntimeLink.
func (l *session) Follow(
	ctx context.Context, id execution.ID, after execution.Sequence,
) (execution.Stream, error) {
	if _, err := l.see(ctx, "follow", id); err != nil {
		return nil, err
	}
	// Subscribe, then read: what is written after the read is announced.
	subscription, err := l.service.cfg.Journal.Follow(ctx, id)
	if err != nil {
		return nil, l.service.problem(ctx, "follow "+string(id), err)
	}
	f := &follower{
		service: l.service, id: id, after: after, ctx: ctx,
		subscription: subscription, signals: subscription.Signals(), again: time.NewTicker(l.service.cfg.Reread),
	}
	if err := f.read(ctx); err != nil {
		_ = f.Close() // the read's error is the one that matters
		return nil, err
	}
	return f, nil
}

// follower reads the log from a cursor on, so each event comes once and in order whatever the hints do. It is owned by
// the goroutine that calls Next.
type follower struct {
	service      *Service
	id           execution.ID
	ctx          context.Context // of the stream
	subscription journal.Subscription
	signals      <-chan journal.Signal
	again        *time.Ticker

	after  execution.Sequence // the last sequence that was read
	ready  []execution.Event  // read and not delivered
	unread bool               // there may be more in the log than was read
	ended  bool               // the terminal event was read
}

// Next implements execution.Stream.
func (f *follower) Next(ctx context.Context) (execution.StreamItem, error) {
	for {
		if len(f.ready) > 0 {
			event := f.ready[0]
			f.ready = f.ready[1:]
			return execution.StreamItem{Event: &event}, nil
		}
		if f.ended {
			return execution.StreamItem{}, io.EOF
		}
		if !f.unread {
			frame, err := f.wait(ctx)
			if err != nil || frame != nil {
				return execution.StreamItem{Frame: frame}, err
			}
			f.unread = true // stays so until a read succeeds, whatever becomes of ctx
		}
		if err := f.read(ctx); err != nil {
			return execution.StreamItem{}, err
		}
	}
}

// wait returns a frame, or nil when the log should be read.
func (f *follower) wait(ctx context.Context) (*execution.Frame, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.ctx.Done():
		return nil, f.ctx.Err()
	case <-f.again.C:
		return nil, nil
	case signal, open := <-f.signals:
		if !open {
			f.signals = nil // closed early: the ticker goes on
			return nil, nil
		}
		return signal.Frame, nil
	}
}

// read takes the next page. A terminal row whose log has been read to its end ends the stream.
func (f *follower) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	page, err := f.service.page(ctx, f.id, f.after, readPage)
	if err != nil {
		return err
	}
	if n := len(page.Events); n > 0 {
		f.ready = page.Events
		f.after = page.Events[n-1].Sequence
	}
	f.unread = f.after < page.Last
	f.ended = !f.unread && page.State.Terminal()
	return nil
}

// Close implements execution.Stream.
func (f *follower) Close() error {
	f.again.Stop()
	return f.subscription.Close()
}
