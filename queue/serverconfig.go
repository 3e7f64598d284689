package queue

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/gather"
)

// ServerConfig configures a Server. The zero value works.
type ServerConfig struct {
	// Queues are the queues to serve, with their weights, 1 to 100: see DefaultQueues. Nil is DefaultQueues; none at all leaves the suspect one.
	Queues map[string]int
	// NoSuspect leaves the queue "suspect" to other workers. By default it is served beside Queues, one task at a time.
	NoSuspect bool
	// Concurrency is how many runners work at once, the suspect one apart. Default 50.
	Concurrency int
	// DrainTimeout is how long Shutdown waits for runners before it ends their contexts and gives their tasks to others.
	// Default 30 s.
	DrainTimeout time.Duration
	// Prefix begins the keys of the token lists. Clients and servers of one installation share it. Default "pawl".
	Prefix string
	// Waker is shared with the Client of this process. Default: one of its own, and then only tokens wake.
	Waker *Waker
	// Gather is what the process sends its calls through, so that what the queue sends travels with them. Default: one of its own.
	Gather *gather.Group
	// Waited is told of each task how long it has waited in its queue, from the moment it might run; it returns at once. Nil:
	// nobody is.
	Waited func(queue string, took time.Duration)
	// Logger is slog.Default() by default.
	Logger *slog.Logger

	endPatience time.Duration // longer in tests
}

func (c *ServerConfig) setDefaults() error {
	if c.Queues == nil {
		c.Queues = DefaultQueues()
	}
	c.Queues = maps.Clone(c.Queues)
	if err := c.checkQueues(); err != nil {
		return err
	}
	if c.Concurrency == 0 {
		c.Concurrency = 50
	}
	if c.Concurrency < 1 {
		return fmt.Errorf("queue: config Concurrency: %d is less than 1", c.Concurrency)
	}
	if c.DrainTimeout == 0 {
		c.DrainTimeout = 30 * time.Second
	}
	if c.DrainTimeout < 0 {
		return fmt.Errorf("queue: config DrainTimeout: %v is negative", c.DrainTimeout)
	}
	if c.endPatience == 0 {
		c.endPatience = endPatience
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

func (c *ServerConfig) checkQueues() error {
	if len(c.Queues) == 0 && c.NoSuspect {
		return errors.New("queue: config Queues: none, and NoSuspect: nothing would be served")
	}
	for name, weight := range c.Queues {
		if err := checkName(name); err != nil {
			return fmt.Errorf("queue: config Queues: %w", err)
		}
		if weight < 1 || weight > 100 {
			return fmt.Errorf("queue: config Queues: weight %d of %s is not between 1 and 100", weight, name)
		}
		if name == execution.SuspectQueue && !c.NoSuspect {
			return fmt.Errorf("queue: config Queues: %s is served anyway, one task at a time, unless NoSuspect is set", name)
		}
	}
	return nil
}
