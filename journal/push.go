package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of push configs.
const (
	MaxPushConfigs    = 16   // of one execution
	MaxPushNameBytes  = 128  // of a config's name, and of a mark
	MaxPushConfigSize = 8192 // bytes of one
)

// PushConfigs is the role of whoever tells others of executions as they change, at addresses that were left for it. A config
// is opaque, belongs to an execution and goes with it. What was told of last is the mark of each config, opaque too.
//
// An execution that gets a config stands in an index from then on, until DropPushes takes it out: whoever tells finds it
// there, after a crash too. An execution without a config, or of which all is told, is in no index and costs nothing.
type PushConfigs interface {
	// PutPushConfig stores a config under its name, in place of one of that name. mark says what its owner knows already. An
	// execution that is not in the index is due for a look at once; whoever looks after one looks again by itself when it
	// changes, so if it has changed since the mark was made let go of it (KeepPushes). The same config again changes nothing.
	// ErrNotFound; ErrLimit: the execution has MaxPushConfigs others; ErrConflict: what no store takes.
	PutPushConfig(ctx context.Context, id execution.ID, name string, config []byte, mark string) error
	// PushConfigs returns an execution's configs and their marks, by name. ErrNotFound: there is no such execution.
	PushConfigs(ctx context.Context, id execution.ID) (configs map[string][]byte, marks map[string]string, err error)
	// DeletePushConfig deletes a config; one that is not there changes nothing. With the last one the execution leaves the
	// index. ErrNotFound: there is no such execution.
	DeletePushConfig(ctx context.Context, id execution.ID, name string) error
	// MarkPushed says what was told last. A config that is not there changes nothing. ErrNotFound: there is no such execution.
	MarkPushed(ctx context.Context, id execution.ID, name, mark string) error
	// TakePushes gives executions that are due for a look, at most limit of each partition, and keeps each from others for as
	// long as lease. That saves work; it is no claim: two may look at one all the same.
	TakePushes(ctx context.Context, limit int, lease time.Duration) ([]execution.ID, error)
	// KeepPushes keeps executions of the index from others for as long as lease from now on; 0 lets go of them.
	KeepPushes(ctx context.Context, ids []execution.ID, lease time.Duration) error
	// DropPushes takes an execution out of the index if each of its configs has the mark; else it answers false and changes
	// nothing. One that is not in the index, or does not exist, answers true.
	DropPushes(ctx context.Context, id execution.ID, mark string) (bool, error)
}

// CheckPushConfig refuses what no store takes. It wraps ErrConflict.
func CheckPushConfig(name string, config []byte, mark string) error {
	switch {
	case name == "" || len(name) > MaxPushNameBytes:
		return fmt.Errorf("%w: a push config's name has 1 to %d bytes, not %d", ErrConflict, MaxPushNameBytes, len(name))
	case len(config) == 0 || len(config) > MaxPushConfigSize:
		return fmt.Errorf("%w: a push config has 1 to %d bytes, not %d", ErrConflict, MaxPushConfigSize, len(config))
	case len(mark) > MaxPushNameBytes:
		return fmt.Errorf("%w: a mark has at most %d bytes, not %d", ErrConflict, MaxPushNameBytes, len(mark))
	default:
		return nil
	}
}
