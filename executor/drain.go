package executor

import (
	"context"
	"fmt"
	"time"
)

// Drain stops taking tasks, lets the nodes that run finish within the drain time, and then cancels the rest; each claim is
// handed back when its node's function has returned. A node that does not return lets its claim run out: Drain gives it a
// short grace, and its error says how many there were. It also ends when ctx does.
func (d *Durable) Drain(ctx context.Context) error {
	idle := d.beginDraining()
	if waitIdle(ctx, idle, d.cfg.DrainTimeout) {
		return nil
	}
	for _, h := range d.holding("") {
		h.end(ErrDrained)
	}
	if waitIdle(ctx, idle, drainGrace) {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Errorf("%w: %d nodes have not returned", ErrDrained, d.running)
}

func waitIdle(ctx context.Context, idle <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	select {
	case <-idle:
		return true
	default:
		return false
	}
}

// beginDraining may be called again; the channel is closed when no task runs any more.
func (d *Durable) beginDraining() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.draining {
		d.draining = true
		if d.running == 0 {
			close(d.idle)
		}
	}
	return d.idle
}

func (d *Durable) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.draining {
		return false
	}
	d.running++
	return true
}

func (d *Durable) isDraining() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.draining
}

func (d *Durable) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running--
	if d.draining && d.running == 0 {
		close(d.idle)
	}
}

func (d *Durable) add(h *holder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holders[h] = struct{}{}
	d.arm()
}

func (d *Durable) remove(h *holder) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.holders, h)
}
