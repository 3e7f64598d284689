package executor

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// Remotes finds what carries out the agents that are elsewhere. It may be used by many goroutines.
type Remotes interface {
	// Resolve is the agent of the definition, whose endpoint it has checked. Its errors name the agent.
	Resolve(definition *agent.Definition) (*backend.ResolvedAgent, error)
}

// RemoteRun is how the run of a remote agent stands. It is there from the first thing that the remote took until the remote
// is over with it.
type RemoteRun struct {
	// State is what the next call of the backend goes on from: the handle of the remote's task is in it.
	State *backend.PersistedState `json:"state,omitempty"`
	// Operation names what the remote was told last.
	Operation string `json:"operation,omitempty"`
	// Looks counts the looks at the remote since it was told something.
	Looks int `json:"looks,omitempty"`
	// Question is what the remote asks for, until it has the answer.
	Question *RemoteQuestion `json:"question,omitempty"`
	// Noted says that the row knows what is to be undone at the remote if the execution ends.
	Noted bool `json:"noted,omitempty"`
}

// RemoteQuestion is a question of a remote agent. With Answered, the answer is in the history and the remote does not have
// it yet.
type RemoteQuestion struct {
	Kind     execution.InteractionKind `json:"kind"`
	Prompt   string                    `json:"prompt"`
	Request  execution.RequestID       `json:"request"`
	Answered bool                      `json:"answered,omitempty"`
}

func (r *RemoteRun) clone() *RemoteRun {
	if r == nil {
		return nil
	}
	out := *r
	out.State = r.State.Clone()
	if r.Question != nil {
		question := *r.Question
		out.Question = &question
	}
	return &out
}

// The waits between two looks at a remote that has no wish of its own.
const (
	firstLook = 250 * time.Millisecond
	lastLook  = 30 * time.Second
)

// lookAfter is when to look at the remote again: as it wishes, else less and less often.
func lookAfter(wish time.Duration, looks int) time.Duration {
	if wish > 0 {
		return wish
	}
	if looks > 6 {
		return lastLook
	}
	return min(lastLook, firstLook<<max(looks, 0))
}

// cleanupVersion is the v of what rows keep about remote runs.
const cleanupVersion = 1

// remoteCleanup is what a row keeps for whoever undoes a remote run.
type remoteCleanup struct {
	V     int    `json:"v"`
	Agent string `json:"agent"`
	// SinceMs is when the remote was told what it works on.
	SinceMs int64                   `json:"sinceMs"`
	State   *backend.PersistedState `json:"state,omitempty"`
}

// encodeCleanup is what a row keeps of an open remote run. What the remote said so far is of no use for that.
func encodeCleanup(agentID string, sinceMs int64, state *backend.PersistedState) ([]byte, error) {
	state = state.Clone()
	if state != nil {
		delete(state.Extensions, backend.OutputStateKey)
	}
	data, err := json.Marshal(remoteCleanup{V: cleanupVersion, Agent: agentID, SinceMs: sinceMs, State: state})
	if err != nil {
		return nil, fmt.Errorf("encode the clean-up of a remote run: %w", err)
	}
	return data, nil
}

func decodeCleanup(data []byte) (remoteCleanup, error) {
	var stored remoteCleanup
	if err := json.Unmarshal(data, &stored); err != nil {
		return stored, fmt.Errorf("%w: clean-up: %w", ErrCheckpoint, err)
	}
	if stored.V != cleanupVersion {
		return stored, fmt.Errorf("%w: clean-up of version %d", ErrCheckpoint, stored.V)
	}
	return stored, nil
}

// RemoteTask is the id of the remote's task among what a row keeps of a remote run, and since when the remote has what it
// works on, in milliseconds since 1970; empty and 0 when that is not known. Whoever shows rows gets it as a function value.
func RemoteTask(cleanup []byte) (task string, sinceMs int64) {
	stored, err := decodeCleanup(cleanup)
	if err != nil || stored.State == nil {
		return "", 0
	}
	for _, extension := range stored.State.Extensions {
		var handle struct {
			TaskID string `json:"taskId"`
		}
		if json.Unmarshal(extension, &handle) == nil && handle.TaskID != "" {
			return handle.TaskID, stored.SinceMs
		}
	}
	return "", stored.SinceMs
}
