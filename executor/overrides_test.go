package executor

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// seen builds kits whose model answers with what its definition and the request say.
type seen struct {
	mu    sync.Mutex
	built []string // guarded by mu: the models of the definitions
	tools []local.Tool
	asked []local.ModelRequest // guarded by mu
}

func (s *seen) Build(_ context.Context, definition *agent.Definition) (*local.Kit, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.built = append(s.built, definition.Model.Name)
	return &local.Kit{Tools: s.tools, Model: fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked = append(s.asked, request)
		response := text(`"of ` + definition.Model.Name + `"`)
		response.Usage = used(10, 10)
		return response, nil
	})}, nil
}

// overridden submits an execution with overrides and limits of its own.
func (w *world) overridden(definition *agent.Definition, request execution.CreateRequest) execution.ID {
	w.t.Helper()
	request.Agent, request.Input = definition.Name, execution.Input{Type: execution.UserMessage, Text: "hello"}
	own, err := definition.With(request.Overrides)
	require.NoError(w.t, err)
	checkpoint, node, messages, err := Opening(own, request)
	require.NoError(w.t, err)
	overrides, err := json.Marshal(request.Overrides)
	require.NoError(w.t, err)
	id := execution.NewID(7)
	reservation, err := w.store.Reserve(w.t.Context(), journal.NewExecution{
		ID: id, ConversationID: execution.NewConversationID(7), Caller: execution.LocalCaller(), Request: request,
		Definition: definition.Hash(), Overrides: overrides, Checkpoint: checkpoint, Node: node, Messages: messages,
	})
	require.NoError(w.t, err)
	require.NoError(w.t, w.queue.Enqueue(w.t.Context(), reservation.Tasks...))
	return id
}

// What a submission says in place of its agent holds for its execution and for no other one, whichever worker runs it.
func TestOverridesHoldForTheirExecutionAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kits := &seen{}
		definition := &agent.Definition{Name: "demo", Model: priced("large"), Instructions: "Be polite.", OutputRetries: 1}
		w := newWorld(t, definition, nil, func(c *Config) { c.Builder = kits })
		plain := w.id
		special := w.overridden(definition, execution.CreateRequest{
			Overrides: execution.Overrides{
				Model: "small", Instructions: "Be brief.", OutputSchema: json.RawMessage(`{"type":"string"}`),
			},
			Limits: &execution.Limits{MaxModelRequests: 7, MaxTotalTokens: 5000},
		})
		for id, want := range map[execution.ID]string{plain: `"of large"`, special: `"of small"`} {
			w.id = id
			for range 20 {
				if w.row().State.Terminal() {
					break
				}
				w.durable = w.worker(nil, func(c *Config) { c.Builder = kits }) // a worker that has seen nothing
				if task, ok := w.queue.pop(); ok {
					require.NoError(t, w.durable.Run(t.Context(), task))
				} else {
					<-time.After(time.Second)
					w.sweep()
				}
			}
			row := w.row()
			require.Equal(t, execution.Completed, row.State)
			require.Equal(t, want, row.Outcome.Answer)
			if id == special {
				require.JSONEq(t, want, string(row.Outcome.Output))
				checkpoints := w.checkpoints()
				require.Equal(t, int64(7), checkpoints[len(checkpoints)-1].State.Limits.MaxModelRequests)
				require.Equal(t, int64(execution.DefaultMaxTurns), checkpoints[0].State.Limits.MaxTurns)
				require.Zero(t, row.Usage.CostMicros, "no price is known of the other model")
			}
		}
		kits.mu.Lock()
		defer kits.mu.Unlock()
		for _, request := range kits.asked {
			if request.OutputSchema == nil {
				require.Equal(t, "Be polite.", request.Instructions)
				require.Zero(t, request.MaxOutputTokens)
				continue
			}
			require.Equal(t, "Be brief.", request.Instructions)
			require.Positive(t, request.MaxOutputTokens, "its own limits")
		}
		require.Len(t, kits.asked, 2)
	})
}

// A worker keeps a definition with overrides as it keeps one without, and only so many of them.
func TestDefinitionsWithOverridesAreKeptAndBounded(t *testing.T) {
	t.Parallel()
	store := definitionStore{}
	kits := &seen{}
	definition := &agent.Definition{Name: "demo", Model: priced("large")}
	store.data = definition.Canonical()
	kept := newDefinitions(store, kits, nil)
	for range 3 {
		made, err := kept.get(t.Context(), definition.Hash(), []byte(`{"model":"small"}`))
		require.NoError(t, err)
		require.Equal(t, "small", made.definition.Model.Name)
	}
	require.Equal(t, []string{"small"}, kits.built)
	for i := range 2 * maxDefinitions {
		overrides, err := json.Marshal(execution.Overrides{Instructions: string(rune('a' + i))})
		require.NoError(t, err)
		_, err = kept.get(t.Context(), definition.Hash(), overrides)
		require.NoError(t, err)
	}
	require.Len(t, kept.byKey, maxDefinitions)
	_, err := kept.get(t.Context(), definition.Hash(), []byte(`{"patience":1}`))
	require.ErrorIs(t, err, errDefinition, "overrides of a later version")
	_, err = kept.get(t.Context(), definition.Hash(), []byte(`{"frontendTools":[{"name":"a b"}]}`))
	require.ErrorIs(t, err, errDefinition)
}

// definitionStore is a store with one definition.
type definitionStore struct {
	Store
	data []byte
}

func (s definitionStore) Definition(context.Context, string) ([]byte, error) { return s.data, nil }
