package memjournal

import (
	"context"
	"sync"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	feedBuffer = 64
	wideBuffer = 1024
)

// feed is who follows what. It has its own mutex: a signal is sent while the store is locked, and never blocks.
type feed struct {
	mu       *sync.Mutex
	signals  map[*subscription]execution.ID
	wide     map[*wideSubscription]struct{}
	requests map[*requestSubscription]journal.WorkerID
}

func newFeed() feed {
	return feed{
		mu:       &sync.Mutex{},
		signals:  map[*subscription]execution.ID{},
		wide:     map[*wideSubscription]struct{}{},
		requests: map[*requestSubscription]journal.WorkerID{},
	}
}

// changed tells those who follow the execution which events were written since it told them last.
func (f feed) changed(r *row) {
	var signal journal.Signal
	if r.LastSequence > r.told {
		signal.First, signal.Last = r.told+1, r.LastSequence
	}
	r.told = r.LastSequence
	f.send(r.ID, signal)
}

// send says how many got it.
func (f feed) send(id execution.ID, signal journal.Signal) (listeners int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub, followed := range f.signals {
		if followed == id {
			listeners++
			sub.push(signal)
		}
	}
	for sub := range f.wide {
		sub.push(journal.WideSignal{Execution: id, Signal: signal})
	}
	return listeners + len(f.wide)
}

// requested tells a worker that cancel or pause was recorded for what it holds.
func (f feed) requested(worker journal.WorkerID, id execution.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for sub, follower := range f.requests {
		if follower != worker {
			continue
		}
		select {
		case sub.ids <- id:
		default: // a slow worker reads the flags with its next Requests
		}
	}
}

type subscription struct {
	feed    feed
	channel chan journal.Signal
	once    sync.Once
}

// push never blocks. In a full channel the oldest signal gives way; what is left says that something is missing.
func (s *subscription) push(signal journal.Signal) {
	pushed(s.channel, signal, func(journal.Signal) journal.Signal { return journal.Signal{Missed: true} })
}

// pushed sends a value, in place of older ones when the channel is full: it has one sender at a time.
func pushed[T any](channel chan T, value T, lost func(T) T) {
	for {
		select {
		case channel <- value:
			return
		default:
		}
		select {
		case <-channel:
			value = lost(value)
		default: // the receiver was faster
		}
	}
}

// Signals implements journal.Subscription.
func (s *subscription) Signals() <-chan journal.Signal { return s.channel }

// Close implements journal.Subscription.
func (s *subscription) Close() error {
	s.once.Do(func() {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		delete(s.feed.signals, s)
		close(s.channel)
	})
	return nil
}

type wideSubscription struct {
	feed    feed
	channel chan journal.WideSignal
	once    sync.Once
}

func (s *wideSubscription) push(signal journal.WideSignal) {
	pushed(s.channel, signal, func(journal.WideSignal) journal.WideSignal {
		return journal.WideSignal{Signal: journal.Signal{Missed: true}}
	})
}

// Signals implements journal.WideSubscription.
func (s *wideSubscription) Signals() <-chan journal.WideSignal { return s.channel }

// Close implements journal.WideSubscription.
func (s *wideSubscription) Close() error {
	s.once.Do(func() {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		delete(s.feed.wide, s)
		close(s.channel)
	})
	return nil
}

type requestSubscription struct {
	feed feed
	ids  chan execution.ID
	once sync.Once
}

// Requests implements journal.RequestSubscription.
func (s *requestSubscription) Requests() <-chan execution.ID { return s.ids }

// Close implements journal.RequestSubscription.
func (s *requestSubscription) Close() error {
	s.once.Do(func() {
		s.feed.mu.Lock()
		defer s.feed.mu.Unlock()
		delete(s.feed.requests, s)
		close(s.ids)
	})
	return nil
}

// Follow implements journal.Feed.
func (s *Store) Follow(ctx context.Context, id execution.ID) (journal.Subscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("follow", id, err)
	}
	sub := &subscription{feed: s.feed, channel: make(chan journal.Signal, feedBuffer)}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.signals[sub] = id
	return sub, nil
}

// FollowAll implements journal.Feed.
func (s *Store) FollowAll(ctx context.Context) (journal.WideSubscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("follow all", "", err)
	}
	sub := &wideSubscription{feed: s.feed, channel: make(chan journal.WideSignal, wideBuffer)}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.wide[sub] = struct{}{}
	return sub, nil
}

// PublishFrame implements journal.Feed.
func (s *Store) PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, fail("publish frame", id, err)
	}
	return s.feed.send(id, journal.Signal{Frame: &frame}), nil
}

// FollowRequests implements journal.Feed.
func (s *Store) FollowRequests(ctx context.Context, worker journal.WorkerID) (journal.RequestSubscription, error) {
	if err := ctx.Err(); err != nil {
		return nil, fail("follow requests", execution.ID(worker), err)
	}
	sub := &requestSubscription{feed: s.feed, ids: make(chan execution.ID, feedBuffer)}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
	s.feed.requests[sub] = worker
	return sub, nil
}
