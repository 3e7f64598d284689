package executor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// strictModel calls the tool when the user has spoken and answers when it has, and refuses what a provider would: calls
// that are not answered right behind the message that asked for them.
func strictModel(t *testing.T) fakeModel {
	t.Helper()
	return func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
		var open []execution.CallID
		for i, message := range request.Messages {
			if message.Role == execution.RoleTool {
				if len(open) == 0 || message.ToolResult.CallID != open[0] {
					return local.ModelResponse{}, fmt.Errorf("message %d answers no open call", i)
				}
				open = open[1:]
				continue
			}
			if len(open) > 0 {
				return local.ModelResponse{}, fmt.Errorf("before message %d: %v are not answered", i, open)
			}
			for _, call := range message.ToolCalls {
				open = append(open, call.CallID)
			}
		}
		if request.Messages[len(request.Messages)-1].Role == execution.RoleUser {
			return calling("look", "look"), nil
		}
		return text("Booked."), nil
	}
}

// talk submits to a conversation.
func (w *world) talk(definition *agent.Definition, conversation execution.ConversationID, said string) {
	w.t.Helper()
	request := execution.CreateRequest{
		Agent: definition.Name, Input: execution.Input{Type: execution.UserMessage, Text: said}, ConversationID: conversation,
	}
	checkpoint, node, messages, err := Opening(definition, request)
	require.NoError(w.t, err)
	w.reserve(journal.NewExecution{
		ConversationID: conversation, Request: request, Definition: definition.Hash(), Checkpoint: checkpoint, Node: node,
		Messages: messages,
	})
}

func (w *world) reserve(n journal.NewExecution) {
	w.t.Helper()
	n.ID, n.Caller = execution.NewID(n.ConversationID.Partition(execution.LocalCaller().Tenant)), execution.LocalCaller()
	reservation, err := w.store.Reserve(w.t.Context(), n)
	require.NoError(w.t, err)
	w.id = n.ID
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), reservation.Tasks...))
}

// fork forks an execution and follows the fork from then on.
func (w *world) fork(definition *agent.Definition, from execution.Origin, said string) error {
	w.t.Helper()
	read := func(step execution.Step) []byte {
		stored, err := w.store.Checkpoints(w.t.Context(), from.ExecutionID, step, 1)
		require.NoError(w.t, err)
		return stored[0].Data
	}
	request := execution.CreateRequest{Agent: definition.Name, Input: execution.Input{Type: execution.UserMessage, Text: said}}
	n, err := Forking(definition, request, read(0), read(from.Step), said != "")
	if err != nil {
		return err
	}
	n.ConversationID, n.Request, n.Definition = execution.NewConversationID(from.ExecutionID.Partition()), request, definition.Hash()
	n.Fork.From = from
	w.reserve(n)
	return nil
}

func TestAForkGoesOnFromEveryBoundary(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		forkAll(t, func(kit *local.Kit) *world { return newWorld(t, &agent.Definition{}, kit, nil) })
	})
}

func TestAForkGoesOnFromEveryBoundaryOnRedis(t *testing.T) {
	t.Parallel()
	forkAll(t, onRedis(t))
}

// forkAll forks the second execution of a conversation, and then a fork of that, from every boundary.
func forkAll(t *testing.T, open func(*local.Kit) *world) {
	t.Helper()
	definition := &agent.Definition{Name: "demo"}
	w := open(&local.Kit{Model: strictModel(t), Tools: []local.Tool{tool("look", agent.Idempotent, says("found"))}})
	require.Equal(t, execution.Completed, w.drive().State)
	w.talk(definition, w.row().ConversationID, "and again")
	source := w.id
	lengths := w.lengths()
	w.forkEverywhere(definition, source, w.nodes(), lengths, w.history())
	require.NoError(t, w.fork(definition, execution.Origin{ExecutionID: source, Step: 1}, ""))
	source = w.id
	lengths = w.lengths()
	w.forkEverywhere(definition, source, w.nodes(), lengths, w.history())
}

// lengths runs the execution to its end and gives the length of the history at each of its steps.
func (w *world) lengths() []int {
	w.t.Helper()
	lengths := []int{len(w.history())}
	for !w.row().State.Terminal() {
		require.NoError(w.t, w.next())
		lengths = append(lengths, len(w.history()))
	}
	return lengths
}

// forkEverywhere forks the execution from each of its boundaries, without and with a word of the user.
func (w *world) forkEverywhere(
	definition *agent.Definition, source execution.ID, nodes []Node, lengths []int, whole []execution.Message,
) {
	w.t.Helper()
	for step, node := range nodes {
		from := execution.Origin{ExecutionID: source, Step: execution.Step(step)}
		for _, said := range []string{"", "instead"} {
			err := w.fork(definition, from, said)
			ended := node == RunComplete || node == RunFailed
			if !Forkable(node) || said == "" && ended {
				var refused *execution.APIError
				require.True(w.t, errors.As(err, &refused), "%s: %v", node, err)
				require.Equal(w.t, execution.InvalidRequest, refused.Code)
				continue
			}
			require.NoError(w.t, err)
			require.Equal(w.t, execution.Usage{}, w.row().Usage)
			row := w.drive()
			require.Equal(w.t, execution.Completed, row.State, "%s %q: %+v", node, said, row.Failure)
			history := w.history()
			require.Equal(w.t, whole[:lengths[step]], history[:lengths[step]], "%s %q", node, said)
			first := w.checkpoints()[0]
			if said != "" {
				require.Equal(w.t, RunStart, first.Node)
				require.True(w.t, slices.ContainsFunc(history[lengths[step]:], func(m execution.Message) bool { return m.Role == execution.RoleUser }))
				continue
			}
			require.Equal(w.t, node, first.Node)
			if node == ModelResponse || node == BeforeModelRequest || node == ValidateOutput {
				require.Len(w.t, history, len(whole), "the same again: it is where the other one stood")
			}
		}
	}
}

// Case E2: an execution that was interrupted in the midst of its tools leaves a history that goes on.
func TestCaseE2_AnInterruptedBatchIsAnsweredInTheHistory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		definition := &agent.Definition{Name: "demo"}
		var said []string // by users, in the last request
		model := func(ctx context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			said = nil
			for _, message := range request.Messages {
				if message.Role == execution.RoleUser {
					said = append(said, message.Text)
				}
			}
			return strictModel(t)(ctx, request)
		}
		kit := &local.Kit{Model: fakeModel(model), Tools: []local.Tool{tool("look", agent.Idempotent, says("found"))}}
		for _, node := range []Node{RunStart, PrepareModelRequest, BeforeModelRequest, ModelResponse, ToolCall, ToolReturn, ValidateOutput} {
			for _, onBusy := range []execution.OnBusy{execution.BusyInterrupt, execution.BusyRollback} {
				w := newWorld(t, definition, kit, nil)
				w.to(node)
				interrupted, conversation := w.id, w.row().ConversationID
				request := execution.CreateRequest{
					Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "stop"}, OnBusy: onBusy,
				}
				checkpoint, opening, messages, err := Opening(definition, request)
				require.NoError(t, err)
				w.reserve(journal.NewExecution{
					ConversationID: conversation, Request: request, Definition: definition.Hash(), Checkpoint: checkpoint,
					Node: opening, Messages: messages,
				})
				row := w.drive()
				require.Equal(t, execution.Completed, row.State, "%s %s: %+v", node, onBusy, row.Failure)
				other, err := w.store.Get(t.Context(), interrupted)
				require.NoError(t, err)
				require.Equal(t, execution.Canceled, other.State)
				if onBusy == execution.BusyRollback {
					require.Len(t, w.history(), 5)
				}
				want := []string{"Oslo, please", "stop"}
				if onBusy == execution.BusyRollback {
					want = want[1:]
				}
				require.Equal(t, want, said, "%s %s: what the model is told", node, onBusy)
				if onBusy == execution.BusyRollback || node != ToolCall && node != ToolReturn {
					continue
				}
				answered := 0
				for _, message := range w.history()[:other.HistoryEnd] {
					if message.Role == execution.RoleTool {
						answered++
					}
				}
				require.Equal(t, 2, answered, "%s: in the history itself", node)
			}
		}
	})
}

// One that is damaged in the store is no fault of the server, and the caller is told which it is.
func TestAForkOfACheckpointThatCannotBeReadIsRefusedByField(t *testing.T) {
	t.Parallel()
	definition := &agent.Definition{Name: "demo"}
	request := execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"}}
	good, _, _, err := Opening(definition, request)
	require.NoError(t, err)
	for field, pair := range map[string][2][]byte{"step": {good, []byte("what is this")}, "id": {[]byte("what is this"), good}} {
		_, err := Forking(definition, request, pair[0], pair[1], true)
		var refused *execution.APIError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, execution.Conflict, refused.Code)
		require.Equal(t, field, refused.Field)
		require.ErrorIs(t, err, ErrCheckpoint)
	}
}
