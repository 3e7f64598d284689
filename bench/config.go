package bench

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"time"
)

// Config says what to measure. The zero value measures the main figures on a redis-server of its own.
type Config struct {
	// RedisURL is the Redis to measure on. It must be empty, and is emptied again and again. Default: a redis-server found
	// on PATH, started for the run with an append-only file synced every second.
	RedisURL string
	// Pairs is how often each side of a comparison runs; the sides take turns. Default 5.
	Pairs int
	// Duration is how long a load is measured, after Warmup. Default 5s.
	Duration time.Duration
	// Warmup is how long a load runs before it is measured. Default 1s.
	Warmup time.Duration
	// Concurrency is how many steps run at once, over all worker processes. Default 50.
	Concurrency int
	// Chains is how many chains or executions are under way at once. Default twice Concurrency, so that no slot waits.
	Chains int
	// Turns is how many turns with a tool call an execution has before its answer. Default 10.
	Turns int
	// ResultBytes is the size of a tool's result. Default 1024.
	ResultBytes int
	// NodesPerTask are the settings of that name to compare. Default 1 and 8. A setting that the executor refuses is left
	// out, with a note.
	NodesPerTask []int
	// Workers is how many processes run steps in the main measurement. Default 0: this one.
	Workers int
	// Only names the measurements to run, sweeps included. Default: all main ones; None: those of Sweeps alone.
	Only []string
	// Sweeps names the sweeps to run, in any order. Default: none.
	Sweeps []string
	// Stored are the numbers of stored executions of the sweep of that name. Default 10 and 100,000.
	Stored []int
	// Finished is how many executions the measurement of memory finishes. Default 10,000.
	Finished int
	// History is how many messages are many in the sweep history. Default 1,000.
	History int
	// Queued is how many executions wait in the sweep backlog. Default 10,000.
	Queued int
	// Profile is a folder for CPU profiles of this process, one for each measured window. Default: none.
	Profile string
	// Worker makes the command of another worker process; it must call Worker with its standard streams. Needed by the
	// sweep workers and when Workers is set.
	Worker func() *exec.Cmd
	// Each is called after each measurement with the report so far. Default: nobody is told.
	Each func(report *Report) error
	// Progress receives a line for each step of the run. Default: nothing is said.
	Progress io.Writer
}

// None in Config.Only stands for no main measurement.
const None = "none"

// Check says what is wrong with the configuration.
func (c Config) Check() error {
	_, err := c.withDefaults()
	return err
}

// Quick is the smallest run that touches everything: it proves that the measurements work, and measures nothing.
func Quick(cfg Config) Config {
	cfg.Pairs, cfg.Duration, cfg.Warmup = 1, 200*time.Millisecond, 50*time.Millisecond
	cfg.Concurrency, cfg.Chains, cfg.Turns = 8, 16, 2
	cfg.Stored, cfg.Finished, cfg.Queued, cfg.History = []int{10, 200}, 40, 60, 60
	return cfg
}

func (c Config) withDefaults() (Config, error) {
	if err := c.countDefaults(); err != nil {
		return c, err
	}
	if c.Chains == 0 {
		c.Chains = 2 * c.Concurrency
	}
	if c.Duration == 0 {
		c.Duration = 5 * time.Second
	}
	if c.Warmup == 0 {
		c.Warmup = time.Second
	}
	if c.Duration < 0 || c.Warmup < 0 || c.Chains < 0 || c.Workers < 0 {
		return c, errors.New("bench: Duration, Warmup, Chains and Workers must not be negative")
	}
	if len(c.NodesPerTask) == 0 {
		c.NodesPerTask = []int{1, 8}
	}
	if len(c.Stored) == 0 {
		c.Stored = []int{10, 100_000}
	}
	slices.Sort(c.Stored)
	if c.Workers > 0 && c.Worker == nil {
		return c, errors.New("bench: Workers needs Worker")
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	return c, c.checkNames()
}

func (c *Config) countDefaults() error {
	counts := []struct {
		name       string
		value      *int
		least, def int
	}{
		{"Pairs", &c.Pairs, 1, 5},
		{"Concurrency", &c.Concurrency, 1, 50},
		{"Turns", &c.Turns, 1, 10},
		{"ResultBytes", &c.ResultBytes, 2, 1024},
		{"Finished", &c.Finished, 1, 10_000},
		{"History", &c.History, 2*historyTurns + historyNear, 1000},
		{"Queued", &c.Queued, 1, 10_000},
	}
	for _, n := range counts {
		if *n.value == 0 {
			*n.value = n.def
		}
		if *n.value < n.least {
			return fmt.Errorf("bench: %s must be at least %d, is %d", n.name, n.least, *n.value)
		}
	}
	return nil
}

func (c Config) checkNames() error {
	for _, name := range c.Only {
		if name != None && !slices.Contains(Mains(), name) && !slices.Contains(Sweeps(), name) {
			return fmt.Errorf("bench: there is no measurement %q; there are %v and %v", name, Mains(), Sweeps())
		}
	}
	for _, name := range c.Sweeps {
		if !slices.Contains(Sweeps(), name) {
			return fmt.Errorf("bench: there is no sweep %q; there are %v", name, Sweeps())
		}
	}
	return nil
}
