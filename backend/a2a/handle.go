package a2a

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// StateKey is the extension of a persisted state that holds the handle of a remote task.
const StateKey = "__runtime_a2a"

const handleVersion = 1

// phase says where a run stands with its remote: see the package's table.
type phase string

const (
	phaseSending phase = "sending"
	phaseWorking phase = "working"
	phaseInput   phase = "input"
	phaseAuth    phase = "auth"
	phaseEnded   phase = "ended"
)

// handle is what is kept of a run between two calls. It holds no secret.
type handle struct {
	V            int                      `json:"v"`
	Run          execution.ID             `json:"run"`
	Conversation execution.ConversationID `json:"conversation"`
	Endpoint     string                   `json:"endpoint"` // names the agent's address without showing it
	Protocol     string                   `json:"protocol,omitempty"`
	Phase        phase                    `json:"phase"`
	TaskID       a2a.TaskID               `json:"taskId,omitempty"`
	ContextID    string                   `json:"contextId,omitempty"`
	MessageID    string                   `json:"messageId"` // of the last message
	// From is the transcript's name of the first message that the last one told of.
	From string `json:"from,omitempty"`
	// Answers says that the last message goes to TaskID; else TaskID is of what it began.
	Answers bool `json:"answers,omitempty"`
	// Asked names the status in which the task asked last.
	Asked string `json:"asked,omitempty"`
	// Messages counts those of the run, Resends how often the last one was sent again, and Looks how often its task was
	// looked at.
	Messages int   `json:"messages"`
	Resends  int   `json:"resends,omitempty"`
	Looks    int   `json:"looks,omitempty"`
	SentAtMs int64 `json:"sentAtMs"`
}

// readHandle is the handle in the state as far as it holds for this run, and whether the run left it. An earlier run of the
// conversation leaves what its task and its context are called; what another conversation or another agent left, as after a
// fork, is not this run's to go on with.
func (r *remote) readHandle(request backend.RootRunRequest) (h handle, own bool, err error) {
	identity := request.Identity
	h, found, err := handleIn(request.State)
	if err != nil {
		return handle{}, false, err
	}
	own = found && h.Run == identity.RunID && h.Conversation == identity.ConversationID
	if !own {
		if h.Conversation != identity.ConversationID || h.Endpoint != r.settings.mark {
			h = handle{}
		}
		h.Messages = 0
	}
	h.V, h.Run, h.Conversation, h.Endpoint = handleVersion, identity.RunID, identity.ConversationID, r.settings.mark
	return h, own, nil
}

func handleIn(state *backend.PersistedState) (h handle, found bool, err error) {
	if state == nil || len(state.Extensions[StateKey]) == 0 {
		return handle{}, false, nil
	}
	err = json.Unmarshal(state.Extensions[StateKey], &h)
	if h.V > handleVersion {
		return handle{}, false, fmt.Errorf("the state of the remote run: %w: its version is %d, and %d is the newest that this one reads",
			execution.ErrNewer, h.V, handleVersion)
	}
	if err != nil {
		return handle{}, false, backend.ExecutionFailed("the state of the remote run cannot be read")
	}
	if h.V != handleVersion {
		return handle{}, false, backend.ExecutionFailed(fmt.Sprintf("the state of the remote run has version %d, which this program does not know", h.V))
	}
	return h, true, nil
}

// into is the state with the handle in it.
func (h handle) into(state *backend.PersistedState) (*backend.PersistedState, error) {
	encoded, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the handle of run %s: %w", h.Run, err)
	}
	next := state.Clone()
	if next == nil {
		next = &backend.PersistedState{}
	}
	if next.Extensions == nil {
		next.Extensions = map[string]json.RawMessage{}
	}
	next.Revision++
	next.Extensions[StateKey] = encoded
	return next, nil
}

// waits reports whether the task waits for a message.
func (h handle) waits() bool { return h.Phase == phaseInput || h.Phase == phaseAuth }

// next is the handle of the run's next message, which goes to the task when that waits for one. Its id is the operation's, or
// follows from the run: a repeat of the call has the same one.
func (h handle) next(now time.Time, operation string) handle {
	if h.Answers = h.waits(); !h.Answers {
		h.TaskID = ""
	}
	h.Messages++
	if h.MessageID = operation; operation == "" {
		h.MessageID = string(h.Run) + "." + strconv.Itoa(h.Messages)
	}
	h.Resends, h.Looks, h.SentAtMs = 0, 0, now.UnixMilli()
	return h
}

// firstLook is how soon after a message its task is looked at.
const firstLook = 250 * time.Millisecond

// after is how long to wait before the next look: twice as long each time, up to poll, and never far past the end of the
// time that the remote has.
func (h handle) after(s settings, now time.Time) time.Duration {
	wait := min(firstLook, s.poll)
	for i := 0; i < h.Looks && wait < s.poll; i++ {
		wait = min(2*wait, s.poll)
	}
	return max(min(wait, h.left(s, now)+time.Millisecond), time.Millisecond)
}

// left is what is left of the time that the remote has.
func (h handle) left(s settings, now time.Time) time.Duration {
	return time.UnixMilli(h.SentAtMs).Add(s.timeout).Sub(now)
}
