package executor

import (
	"context"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/journal"
)

// DefinitionStore keeps the definitions of agents.
type DefinitionStore interface {
	// Definition returns a stored definition, or journal.ErrNotFound.
	Definition(ctx context.Context, hash string) ([]byte, error)
}

// RemoteCleaner ends at their remotes the runs of executions that have ended. It may be used by many goroutines, and for one
// row any number of times.
type RemoteCleaner struct {
	definitions DefinitionStore
	remotes     Remotes
}

// NewRemoteCleaner makes a cleaner; both are required.
func NewRemoteCleaner(definitions DefinitionStore, remotes Remotes) (*RemoteCleaner, error) {
	if definitions == nil || remotes == nil {
		return nil, errors.New("remote cleaner: definitions and remotes are required")
	}
	return &RemoteCleaner{definitions: definitions, remotes: remotes}, nil
}

// Clean tells the remote that nobody waits for the row's run any more. A row without one, and a remote that is over with it
// or cannot be told, is no error. An error may pass: Clean is to be called again later.
func (c *RemoteCleaner) Clean(ctx context.Context, row journal.Execution) error {
	if len(row.Cleanup) == 0 {
		return nil
	}
	stored, err := decodeCleanup(row.Cleanup)
	if err != nil {
		return fmt.Errorf("clean up after %s: %w", row.ID, err)
	}
	data, err := c.definitions.Definition(ctx, row.Definition)
	if err != nil {
		return fmt.Errorf("clean up after %s: definition %s: %w", row.ID, row.Definition, err)
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return fmt.Errorf("clean up after %s: %w", row.ID, err)
	}
	remote, err := c.remotes.Resolve(definition)
	if err != nil {
		return fmt.Errorf("clean up after %s: %w", row.ID, err)
	}
	carrier, err := remote.Backend()
	if err != nil {
		return fmt.Errorf("clean up after %s: %w", row.ID, err)
	}
	if !carrier.Capabilities().Cancellation.SupportsRemoteAbort() {
		return nil
	}
	if err := carrier.Abort(ctx, abortOf(stored.Agent, row.ID, row.ConversationID, stored.State)); err != nil {
		return fmt.Errorf("abort the remote run of %s: %w", row.ID, err)
	}
	return nil
}
