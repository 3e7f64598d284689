package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/pawl-run/pawl/agent"
)

// agents is the catalog of a program. It is read again while the program runs, and taken whole or not at all: executions
// keep the definition with which they were submitted.
type agents struct {
	file    string // empty: there is none to read again
	logger  *slog.Logger
	current atomic.Pointer[agent.Catalog]
}

// agents reads the agents' file, unless the catalog is given.
func (d Deps) agents(file string) (*agents, error) {
	catalog, err := d.catalog(file)
	if err != nil {
		return nil, err
	}
	a := &agents{file: file, logger: d.Logger}
	a.current.Store(catalog)
	return a, nil
}

// Agent is the definition of that name, as it holds for new submissions.
func (a *agents) Agent(name string) (*agent.Definition, bool) { return a.current.Load().Agent(name) }

// Names lists the agents, sorted.
func (a *agents) Names() []string { return a.current.Load().Names() }

// watch reads the file again for each signal, until ctx ends.
func (a *agents) watch(ctx context.Context, again <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			a.reload(ctx)
		}
	}
}

// reload takes a file without mistakes. Of another one it logs every mistake and keeps what was there.
func (a *agents) reload(ctx context.Context) {
	if a.file == "" {
		a.logger.InfoContext(ctx, "asked to read the agents again, but they are built in: PAWL_AGENTS names no file")
		return
	}
	old := a.current.Load()
	catalog, err := agent.Load(a.file)
	if wrong := new(agent.FileError); errors.As(err, &wrong) {
		for _, problem := range wrong.Problems {
			a.logger.ErrorContext(ctx, "a mistake in the agents: "+problem.String())
		}
		a.logger.ErrorContext(ctx, "the agents were not read again: the file has mistakes; what was there before holds on",
			"file", a.file, "mistakes", len(wrong.Problems)+wrong.More, "agents", old.Names())
		return
	}
	if err != nil {
		a.logger.ErrorContext(ctx, "the agents were not read again; what was there before holds on", "file", a.file, "error", err)
		return
	}
	a.current.Store(catalog)
	added, changed, removed := differences(old, catalog)
	a.logger.InfoContext(ctx, "the agents were read again; they hold for new submissions", "file", a.file,
		"agents", catalog.Names(), "added", added, "changed", changed, "removed", removed)
}

// differences are the names whose definitions are not the same.
func differences(before, after *agent.Catalog) (added, changed, removed []string) {
	for _, name := range after.Names() {
		now, _ := after.Agent(name)
		was, known := before.Agent(name)
		switch {
		case !known:
			added = append(added, name)
		case was.Hash() != now.Hash():
			changed = append(changed, name)
		}
	}
	for _, name := range before.Names() {
		if _, known := after.Agent(name); !known {
			removed = append(removed, name)
		}
	}
	return added, changed, removed
}

// nothingToRead says that the program has no agents' file: what it runs is in the store.
func nothingToRead(ctx context.Context, again <-chan struct{}, logger *slog.Logger) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-again:
			logger.InfoContext(ctx, "nothing to read again: this program runs the definitions that the API has stored")
		}
	}
}
