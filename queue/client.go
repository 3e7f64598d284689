package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
)

const (
	maxRetry        = 1000             // faults of the infrastructure; the attempts of a node are counted in the journal
	batchSize       = 100              // commands of one pipeline grow with it
	publishInterval = 30 * time.Second // of the names in asynq:queues
)

// ClientConfig configures a Client. The zero value works.
type ClientConfig struct {
	// Queues are the queues that Depth and Repair look at, beside those this client has enqueued to. Default: the names
	// of DefaultQueues and "suspect".
	Queues []string
	// TaskTimeout is how long Asynq lets a task run: whole seconds, at least 1 s. It is a net under the limits of nodes,
	// so it is long. Default 24 h.
	TaskTimeout time.Duration
	// Prefix begins the keys of the token lists. Clients and servers of one installation share it. Default "pawl".
	Prefix string
	// Waker is shared with the servers of this process. Default: one of its own, and then only tokens wake.
	Waker *Waker
	// Gather is what the process sends its calls through, so that wake-ups travel with them. Default: they travel by themselves.
	Gather *gather.Group
	// Logger is slog.Default() by default.
	Logger *slog.Logger
}

func (c *ClientConfig) setDefaults() error {
	if len(c.Queues) == 0 {
		c.Queues = []string{execution.SuspectQueue}
		for name := range DefaultQueues() {
			c.Queues = append(c.Queues, name)
		}
	}
	for _, name := range c.Queues {
		if err := checkName(name); err != nil {
			return fmt.Errorf("queue: config Queues: %w", err)
		}
	}
	if c.TaskTimeout == 0 {
		c.TaskTimeout = 24 * time.Hour
	}
	if c.TaskTimeout < time.Second || c.TaskTimeout%time.Second != 0 {
		return fmt.Errorf("queue: config TaskTimeout: %v is not a number of whole seconds", c.TaskTimeout)
	}
	if c.Prefix == "" {
		c.Prefix = "pawl"
	}
	if c.Waker == nil {
		c.Waker = &Waker{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return nil
}

// Client enqueues tasks and looks at queues. Safe for concurrent use. It has nothing to close.
type Client struct {
	rdb    redis.UniversalClient
	asynq  *asynq.Client
	cfg    ClientConfig
	tokens *tokens
	group  *gather.Group // of enqueues that come one by one; nil in a Cluster

	mu       sync.Mutex
	known    map[string]time.Time // queue → when its name was last published; guarded by mu
	deadFrom map[string]int64     // set of dead tasks → where Repair goes on; guarded by mu
}

// NewClient makes a client on rdb, which it never closes.
func NewClient(rdb redis.UniversalClient, cfg ClientConfig) (*Client, error) {
	if rdb == nil {
		return nil, errors.New("queue: a Redis client is needed")
	}
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	c := &Client{rdb: rdb, cfg: cfg, known: map[string]time.Time{}, deadFrom: map[string]int64{}, group: gather.New(rdb)}
	for _, name := range cfg.Queues {
		c.known[name] = time.Time{}
	}
	c.tokens = newTokens(rdb, cfg.Gather, cfg.Prefix, cfg.Logger)
	c.asynq = asynq.NewClientFromRedisClient(clientView{rdb})
	return c, nil
}

// Enqueue makes the tasks pending and wakes one worker for each. A task whose id is queued already stays as it is: that
// is success, so repeating Enqueue is safe, also when the outcome of an earlier call is unknown, as it is when ctx ends
// meanwhile. The error joins those of the tasks that could not be enqueued; the others are. One round trip for up to 100 tasks
// with their wake-ups.
func (c *Client) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	var errs []error
	for some := range slices.Chunk(tasks, batchSize) {
		errs = append(errs, c.enqueue(ctx, some, false)...)
	}
	return errors.Join(errs...)
}

func (c *Client) enqueue(ctx context.Context, tasks []execution.Task, withSource bool) []error {
	var errs []error
	b := &batch{pipe: c.rdb.Pipeline(), withSource: withSource}
	var sent []execution.Task
	for _, task := range tasks {
		if err := c.write(ctx, b, task); err != nil {
			errs = append(errs, err)
			continue
		}
		sent = append(sent, task)
	}
	if len(sent) == 0 {
		return errs
	}
	c.announce(ctx, b, sent)
	var again []execution.Task
	for i, task := range sent {
		err := b.cmds[i].Err()
		switch {
		case err == nil: // 1: enqueued; 0: it was already, perhaps by the try whose reply was lost
		case redis.HasErrorPrefix(err, "NOSCRIPT") && !withSource:
			again = append(again, task)
		default:
			errs = append(errs, fmt.Errorf("enqueue task %s: %w", task.ID(), err))
		}
	}
	if len(again) > 0 {
		errs = append(errs, c.enqueue(ctx, again, true)...)
	}
	return errs
}

// write records the task's script in the batch.
func (c *Client) write(ctx context.Context, b *batch, task execution.Task) error {
	if err := checkName(task.Queue); err != nil {
		return fmt.Errorf("enqueue task %s: %w", task.ID(), err)
	}
	data, err := encodePayload(task)
	if err != nil {
		return err
	}
	have := len(b.cmds)
	_, err = c.asynq.EnqueueContext(withBatch(ctx, b), asynq.NewTask(taskKind, data),
		asynq.TaskID(task.ID()), asynq.Queue(task.Queue), asynq.MaxRetry(maxRetry), asynq.Timeout(c.cfg.TaskTimeout))
	if err != nil {
		return fmt.Errorf("enqueue task %s: %w", task.ID(), err)
	}
	if len(b.cmds) != have+1 {
		return fmt.Errorf("enqueue task %s: asynq wrote it in a way unknown to Pawl", task.ID())
	}
	return nil
}

// announce sends the batch with its wake-ups.
func (c *Client) announce(ctx context.Context, b *batch, tasks []execution.Task) {
	sent := c.addWakeUps(ctx, b.pipe, tasks)
	if c.group != nil && b.pipe.Len() == 1 {
		if err := c.group.Do(ctx, b.cmds[0]); err != nil { // it may be on its way: the command is not ours any more
			b.cmds[0] = redis.NewCmd(ctx)
			b.cmds[0].SetErr(err)
		}
	} else {
		_, _ = b.pipe.Exec(ctx) // each command has its own error; a wake-up that fails is harmless
	}
	sent()
	for _, task := range tasks {
		c.cfg.Waker.wake(task.Queue)
	}
}

// addWakeUps adds the tasks' wake-ups to a pipeline and, now and then, the names of their queues: Asynq's own client
// publishes a name once, and never again when Redis has lost it. What it returns is to be called when the pipeline was sent.
func (c *Client) addWakeUps(ctx context.Context, pipe redis.Pipeliner, tasks []execution.Task) (sent func()) {
	var pushed []func()
	lacking := 0 // tasks of one queue, in a row, that no server here has a slot for
	for i, task := range tasks {
		if !c.cfg.Waker.reserve(task.Queue) {
			lacking++
		}
		if i+1 < len(tasks) && tasks[i+1].Queue == task.Queue {
			continue
		}
		if lacking > 0 {
			pushed = append(pushed, c.tokens.push(ctx, pipe, task.Queue, lacking))
			lacking = 0
		}
		if c.publishDue(task.Queue) {
			pipe.SAdd(ctx, allQueuesKey, task.Queue)
		}
	}
	if len(pushed) == 0 {
		return func() {}
	}
	return func() {
		for _, one := range pushed {
			one()
		}
	}
}

func (c *Client) publishDue(queue string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.known[queue]) < publishInterval {
		return false
	}
	c.known[queue] = time.Now()
	return true
}

// queues are all queues this client knows, sorted.
func (c *Client) queues() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	names := make([]string, 0, len(c.known))
	for name := range c.known {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
