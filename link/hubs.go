package link

import (
	"context"
	"sync"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// hubs are the executions that are followed in this process: one hub each, while there is a stream of it.
type hubs struct {
	service *Service

	mu   sync.Mutex
	open map[execution.ID]*hub
	stop context.CancelFunc // of the looks; nil while nothing is followed
}

func newHubs(service *Service) *hubs {
	return &hubs{service: service, open: make(map[execution.ID]*hub)}
}

// enter gives the hub of an execution, as soon as it can be joined. A new one begins to read behind first. Leave it.
func (hs *hubs) enter(ctx context.Context, id execution.ID, first execution.Sequence) (*hub, error) {
	h := hs.hub(id, first) //nolint:contextcheck // the hub outlives the stream that opens it
	select {
	case <-h.ready:
		if h.err != nil {
			hs.leave(h)
			return nil, h.err
		}
		return h, nil
	case <-time.After(joinTimeout):
		hs.leave(h)
		return nil, silent()
	case <-ctx.Done():
		hs.leave(h)
		return nil, ctx.Err()
	}
}

func (hs *hubs) hub(id execution.ID, first execution.Sequence) *hub {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.open[id]
	if h == nil {
		ctx, end := context.WithCancel(context.Background())
		h = &hub{
			hubs: hs, id: id, end: end, look: make(chan struct{}, 1), ready: make(chan struct{}),
			streams: make(map[*follower]struct{}),
		}
		hs.open[id] = h
		go h.run(ctx, first)
	}
	h.users++
	if hs.stop == nil {
		var ctx context.Context
		ctx, hs.stop = context.WithCancel(context.Background())
		go hs.lookAgain(ctx)
	}
	return h
}

// leave takes one user away. The last one takes the hub along, but in mid-answer after a while only: whoever comes back gets
// the answer so far.
func (hs *hubs) leave(h *hub) {
	stay := h.inMidAnswer()
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.users--; h.users > 0 {
		return
	}
	if stay && hs.open[h.id] == h {
		time.AfterFunc(hs.service.cfg.Reread, func() { hs.leaveAlone(h) })
		return
	}
	h.end()
	hs.remove(h)
}

// leaveAlone ends a hub that nobody has come back to.
func (hs *hubs) leaveAlone(h *hub) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h.users == 0 {
		h.end()
		hs.remove(h)
	}
}

// forget lets the next stream open a new hub in place of one that has failed.
func (hs *hubs) forget(h *hub) {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	hs.remove(h)
}

// remove wants the lock held.
func (hs *hubs) remove(h *hub) {
	if hs.open[h.id] == h {
		delete(hs.open, h.id)
	}
	if len(hs.open) == 0 && hs.stop != nil {
		hs.stop()
		hs.stop = nil
	}
}

// looks is in how many parts all logs are looked at: thousands at once would hold up what happens meanwhile.
const looks = 20

// lookAgain compares, every Reread, the length of each log with what was read of it: a hint may be lost. Many logs are asked
// for together, so that streams on which nothing happens cost next to nothing.
func (hs *hubs) lookAgain(ctx context.Context) {
	ticker := time.NewTicker(max(hs.service.cfg.Reread/looks, time.Millisecond))
	defer ticker.Stop()
	var rest []*hub
	for part := 0; ; part++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if part%looks == 0 {
			rest = hs.followed()
		}
		n := (len(rest) + looks - part%looks - 1) / (looks - part%looks)
		hs.look(ctx, rest[:n])
		rest = rest[n:]
	}
}

// look wakes those whose log is not as long as what they have read.
func (hs *hubs) look(ctx context.Context, followed []*hub) {
	ids := make([]execution.ID, len(followed))
	read := make([]execution.Sequence, len(followed))
	for i, h := range followed {
		ids[i] = h.id
		read[i], _ = h.stands()
	}
	lasts, err := hs.service.cfg.Journal.LastSequences(ctx, ids)
	if err != nil {
		if ctx.Err() == nil {
			hs.service.cfg.Logger.WarnContext(ctx, "cannot look at the logs that are followed", "logs", len(ids), "error", err)
		}
		return
	}
	for i, h := range followed {
		if lasts[i] != read[i] {
			h.poke()
		}
	}
}

// followed are the hubs that something may come to.
func (hs *hubs) followed() []*hub {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	out := make([]*hub, 0, len(hs.open))
	for _, h := range hs.open {
		select {
		case <-h.ready:
			out = append(out, h)
		default: // it is about to read
		}
	}
	return out
}

func (h *hub) poke() {
	select {
	case h.look <- struct{}{}:
	default: // it will look
	}
}
