package redisjournal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

const (
	feedBuffer         = 1024
	feedHealthInterval = 3 * time.Second
)

var errFeedClosed = errors.New("the store is closed")

// feed is the one pub/sub connection of a Store, shared by all who follow. Channels come and go with their followers.
//
// Two goroutines serve it from the first follower on: wire alone sends SUBSCRIBE and UNSUBSCRIBE, so that a connection
// that hangs holds up nobody who waits with a deadline; listen hands out what arrives.
type feed struct {
	rdb    redis.UniversalClient
	keys   keyspace
	logger *slog.Logger
	work   chan struct{} // capacity 1: topics changed
	quit   chan struct{}

	mu      sync.Mutex // guards what follows; never held while something is sent
	pubsub  *redis.PubSub
	topics  map[name]*topic
	changed map[name]bool // topics that came or went since wire looked
	closed  bool
	done    sync.WaitGroup
}

// topic is one channel, or one pattern of channels, and its followers.
type topic struct {
	requested   bool // SUBSCRIBE was sent for it
	isConfirmed bool
	confirmed   chan struct{}
	followers   map[*follower]struct{}
}

func newFeed(rdb redis.UniversalClient, keys keyspace, logger *slog.Logger) *feed {
	return &feed{
		rdb: rdb, keys: keys, logger: logger, topics: make(map[name]*topic), changed: make(map[name]bool),
		work: make(chan struct{}, 1), quit: make(chan struct{}),
	}
}

// follow adds a follower of a channel, or of all channels that a pattern matches, and waits until Redis has confirmed the
// subscription.
func (f *feed) follow(ctx context.Context, of name, deliver func(channel, message string)) (*follower, error) {
	followed := &follower{feed: f, of: of, deliver: deliver}
	confirmed, err := f.add(followed) //nolint:contextcheck // the connection outlives the call that opens it
	if err != nil {
		return nil, err
	}
	select {
	case <-confirmed:
		return followed, nil
	case <-f.quit:
		followed.leave()
		return nil, errFeedClosed
	case <-ctx.Done():
		followed.leave()
		return nil, ctx.Err()
	}
}

func (f *feed) add(followed *follower) (<-chan struct{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, errFeedClosed
	}
	f.start()
	t := f.topics[followed.of]
	if t == nil {
		t = &topic{confirmed: make(chan struct{}), followers: make(map[*follower]struct{})}
		f.topics[followed.of] = t
		f.changed[followed.of] = true
		f.poke()
	}
	t.followers[followed] = struct{}{}
	return t.confirmed, nil
}

func (f *feed) poke() {
	select {
	case f.work <- struct{}{}:
	default: // wire has not looked yet
	}
}

// start opens the connection with the first follower. The caller holds mu.
func (f *feed) start() {
	if f.pubsub != nil {
		return
	}
	f.pubsub = f.rdb.Subscribe(context.Background()) // no channel yet: nothing is sent
	f.done.Go(func() { f.wire(f.pubsub) })
}

// wire brings the connection's channels to what the topics say.
func (f *feed) wire(pubsub *redis.PubSub) {
	sent := make(map[name]bool)
	listening := false
	for {
		select {
		case <-f.quit:
			return
		case <-f.work:
		}
		more, fewer := f.differences(sent)
		ctx := context.Background() // the client's own timeouts bound it
		if !more.empty() {
			f.note("subscribe", more.send(ctx, pubsub.Subscribe, pubsub.PSubscribe))
			if !listening { // only now there is something to receive
				listening = true
				f.done.Go(func() { f.listen(pubsub) })
			}
		}
		if !fewer.empty() {
			f.note("unsubscribe", fewer.send(ctx, pubsub.Unsubscribe, pubsub.PUnsubscribe))
		}
	}
}

// name is a channel, or a pattern of channels.
type name struct {
	text    string
	pattern bool
}

// names are those of one command for channels and one for patterns.
type names struct{ channels, patterns []string }

func (n *names) add(one name) {
	if one.pattern {
		n.patterns = append(n.patterns, one.text)
	} else {
		n.channels = append(n.channels, one.text)
	}
}

func (n *names) empty() bool { return len(n.channels) == 0 && len(n.patterns) == 0 }

func (n *names) send(ctx context.Context, channels, patterns func(context.Context, ...string) error) (err error) {
	if len(n.channels) > 0 {
		err = channels(ctx, n.channels...)
	}
	if len(n.patterns) > 0 {
		err = errors.Join(err, patterns(ctx, n.patterns...))
	}
	return err
}

// note logs an error of the connection. It is replaced by go-redis, which then subscribes to all channels anew.
func (f *feed) note(operation string, err error) {
	if err != nil && !errors.Is(err, redis.ErrClosed) {
		f.logger.Warn("the feed's connection failed and is replaced", "operation", operation, "error", err)
	}
}

// differences takes what has changed since it was called last: what to subscribe and to unsubscribe. A topic that came again
// is asked for again, so that its followers get a confirmation of their own.
func (f *feed) differences(sent map[name]bool) (more, fewer names) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for changed := range f.changed {
		switch t := f.topics[changed]; {
		case t != nil && !t.requested:
			t.requested, sent[changed] = true, true
			more.add(changed)
		case t == nil && sent[changed]:
			delete(sent, changed)
			fewer.add(changed)
		}
	}
	clear(f.changed)
	return more, fewer
}

func (f *feed) listen(pubsub *redis.PubSub) {
	messages := pubsub.ChannelWithSubscriptions(
		redis.WithChannelSize(feedBuffer), redis.WithChannelHealthCheckInterval(feedHealthInterval))
	for message := range messages {
		switch message := message.(type) {
		case *redis.Subscription:
			switch message.Kind {
			case "subscribe":
				f.confirm(name{text: message.Channel})
			case "psubscribe":
				f.confirm(name{text: message.Channel, pattern: true})
			}
		case *redis.Message:
			of := name{text: message.Channel}
			if message.Pattern != "" {
				of = name{text: message.Pattern, pattern: true}
			}
			f.fanOut(of, message.Channel, message.Payload)
		}
	}
}

// confirm wakes those who wait for the subscription. A confirmation that comes again follows a new connection: what was
// published in between is lost, so everybody is told to look.
func (f *feed) confirm(of name) {
	f.mu.Lock()
	t := f.topics[of]
	again := t != nil && t.isConfirmed
	if t != nil && !t.isConfirmed {
		t.isConfirmed = true
		close(t.confirmed)
	}
	f.mu.Unlock()
	if again {
		f.fanOut(of, of.text, "")
	}
}

// fanOut hands the message to every follower; none of them blocks.
func (f *feed) fanOut(of name, channel, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if t := f.topics[of]; t != nil {
		for followed := range t.followers {
			followed.deliver(channel, message)
		}
	}
}

func (f *feed) close() error {
	f.mu.Lock()
	pubsub, closed := f.pubsub, f.closed
	f.closed = true
	f.mu.Unlock()
	if closed {
		return nil
	}
	close(f.quit)
	if pubsub == nil {
		return nil
	}
	err := pubsub.Close()
	f.done.Wait()
	if err != nil {
		return fmt.Errorf("redisjournal: close the feed: %w", err)
	}
	return nil
}

// follower is one subscription to a channel, or to a pattern of them.
type follower struct {
	feed    *feed
	of      name
	deliver func(channel, message string)
}

// leave ends the subscription; the last follower of a channel takes the channel with it.
func (l *follower) leave() {
	f := l.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.topics[l.of]
	if t == nil {
		return
	}
	delete(t.followers, l)
	if len(t.followers) == 0 {
		delete(f.topics, l.of)
		f.changed[l.of] = true
		f.poke()
	}
}

// Follow subscribes to an execution. See journal.Feed.
func (s *Store) Follow(ctx context.Context, id execution.ID) (journal.Subscription, error) {
	if err := checkID(id); err != nil {
		return nil, refusal("follow", string(id), err)
	}
	sub := newSubscription()
	followed, err := s.feed.follow(ctx, name{text: s.keys.feed(id)}, sub.deliver)
	if err != nil {
		sub.stop()
		return nil, refusal("follow", string(id), err)
	}
	sub.follower = followed
	return sub, nil
}

// FollowAll subscribes to every execution. See journal.Feed.
func (s *Store) FollowAll(ctx context.Context) (journal.WideSubscription, error) {
	sub := newWideSubscription(s.keys)
	followed, err := s.feed.follow(ctx, name{text: s.keys.everyFeed(), pattern: true}, sub.deliver)
	if err != nil {
		sub.stop()
		return nil, refusal("follow", "all", err)
	}
	sub.follower = followed
	return sub, nil
}

// PublishFrame sends a frame to those who follow the execution now. See journal.Feed.
func (s *Store) PublishFrame(ctx context.Context, id execution.ID, frame execution.Frame) (int, error) {
	if err := checkID(id); err != nil {
		return 0, refusal("publish frame", string(id), err)
	}
	message, err := json.Marshal(frame)
	if err != nil {
		return 0, fmt.Errorf("encode frame of %s: %w", id, err)
	}
	listeners, err := s.rdb.Publish(ctx, s.keys.feed(id), message).Result()
	if err != nil {
		return 0, refusal("publish frame", string(id), err)
	}
	return int(listeners), nil
}

// FollowRequests subscribes to the requests recorded for a worker's executions. See journal.Feed.
func (s *Store) FollowRequests(ctx context.Context, worker journal.WorkerID) (journal.RequestSubscription, error) {
	sub := newRequestSubscription()
	followed, err := s.feed.follow(ctx, name{text: s.keys.requests(worker)}, sub.deliver)
	if err != nil {
		sub.stop()
		return nil, refusal("follow requests", string(worker), err)
	}
	sub.follower = followed
	return sub, nil
}

// decodeSignal reads a message of an execution's channel: a frame as JSON, "<last sequence> <how many>" of the events that
// were written, "0" when none were, or nothing when messages were lost. Any other is of another release, and says as little.
func decodeSignal(message string) journal.Signal {
	if message == "" {
		return journal.Signal{Missed: true}
	}
	if message[0] == '{' {
		frame := new(execution.Frame)
		if err := json.Unmarshal([]byte(message), frame); err == nil {
			return journal.Signal{Frame: frame}
		}
		return journal.Signal{Missed: true} // looking at the log is never wrong
	}
	if message == "0" {
		return journal.Signal{}
	}
	end, count, _ := strings.Cut(message, " ")
	last, errLast := strconv.ParseUint(end, 10, 64)
	n, errCount := strconv.ParseUint(count, 10, 64)
	if errLast != nil || errCount != nil || n == 0 || n > last {
		return journal.Signal{Missed: true}
	}
	return journal.Signal{First: execution.Sequence(last - n + 1), Last: execution.Sequence(last)}
}
