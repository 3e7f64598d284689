package executor

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// laterStore holds records as a later release would have written them.
type laterStore struct {
	Store
	claimed    func(*journal.Claimed)
	definition func([]byte) []byte
	counted    nobodyCounts
}

func (s *laterStore) Claim(ctx context.Context, request journal.ClaimRequest) (journal.Claimed, error) {
	claimed, err := s.Store.Claim(ctx, request)
	if err == nil && s.claimed != nil {
		s.claimed(&claimed)
	}
	return claimed, err
}

func (s *laterStore) Definition(ctx context.Context, hash string) ([]byte, error) {
	data, err := s.Store.Definition(ctx, hash)
	if err == nil && s.definition != nil {
		data = s.definition(data)
	}
	return data, err
}

// nobodyCounts counts what it was told of later releases.
type nobodyCounts struct {
	nobody
	newer int
}

func (c *nobodyCounts) Newer() { c.newer++ }

// lacking builds no agent, as a program does that lacks a part of it.
type lacking struct{ local.Builder }

func (lacking) Build(context.Context, *agent.Definition) (*local.Kit, error) {
	return nil, local.ErrUnsupported
}

// replacing changes a record, which must have what is to be changed.
func replacing(old, by string) func([]byte) []byte {
	return func(data []byte) []byte {
		changed := bytes.Replace(data, []byte(old), []byte(by), 1)
		if bytes.Equal(data, changed) {
			panic("no " + old + " in " + string(data))
		}
		return changed
	}
}

// stands is all that an execution has, but for what a claim and its end raise.
type stands struct {
	row         journal.Execution
	checkpoints []journal.StoredCheckpoint
	events      []execution.EventType
}

func (w *world) stands() stands {
	w.t.Helper()
	stored, err := w.store.Checkpoints(w.t.Context(), w.id, 0, 100)
	require.NoError(w.t, err)
	row := w.row()
	row.Version, row.Wake, row.UpdatedAtMs = 0, 0, 0
	return stands{row: row, checkpoints: stored, events: w.types()}
}

// A record of a later release is left as it is, however often this one's workers come by. It is no reason to suspend or to try
// again, and nothing is counted against the execution: workers of that release go on with it.
func TestARecordOfALaterReleaseIsLeftToItsWorkers(t *testing.T) {
	t.Parallel()
	checkpoint := func(old, by string) func(*laterStore) {
		return func(s *laterStore) {
			change := replacing(old, by)
			s.claimed = func(c *journal.Claimed) { c.Checkpoint = change(c.Checkpoint) }
		}
	}
	for what, later := range map[string]func(*laterStore){
		"a checkpoint of another version":             checkpoint(`{"v":2`, `{"v":3`),
		"a checkpoint of another shape":               checkpoint(`{"v":2,"s":`, `{"v":3,"s":{},"other":`),
		"a checkpoint with a field that is not known": checkpoint(`{"v":2`, `{"v":2,"zz":1`),
		"a batch with a field that is not known":      checkpoint(`"status":`, `"later":true,"status":`),
		"an intent": func(s *laterStore) {
			s.claimed = func(c *journal.Claimed) { c.Ledger[0].Intent = replacing(`{"v":1`, `{"v":2`)(c.Ledger[0].Intent) }
		},
		"a receipt": func(s *laterStore) {
			s.claimed = func(c *journal.Claimed) {
				c.Ledger[0].State, c.Ledger[0].Receipt = journal.Done, []byte(`{"v":2,"result":["of","another","shape"]}`)
			}
		},
		"a definition": func(s *laterStore) { s.definition = replacing(`{`, `{"aLaterField":{},`) },
		"a provider":   func(s *laterStore) { s.definition = replacing(`"scripted"`, `"later"`) },
		"a kind of tool": func(s *laterStore) {
			s.definition = replacing(`"type":"human"`, `"type":"later"`)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { leftAlone(t, later) })
		})
	}
}

func leftAlone(t *testing.T, later func(*laterStore)) {
	t.Helper()
	definition := &agent.Definition{
		Backend: "local", Model: agent.Model{Provider: "scripted"}, Tools: []agent.Tool{{Name: "ask", Type: agent.ToolHuman}},
	}
	kit := &local.Kit{Model: script(calling("pay"), text("paid")), Tools: []local.Tool{tool("pay", agent.Idempotent, says("ok"))}}
	w := newWorld(t, definition, kit, nil)
	w.to(ToolCall)
	own, store := w.durable, &laterStore{Store: w.store}
	later(store)
	w.durable = w.worker(kit, func(c *Config) {
		c.Store, c.Observer = store, &store.counted
		if store.definition != nil {
			c.Builder = lacking{}
		}
	})
	before := w.stands()
	const often = 2 * maxAttempts
	for n := range often {
		require.NoError(t, w.next())
		require.Equal(t, before, w.stands())
		require.Equal(t, n+1, store.counted.newer)
		_, called := w.queue.pop()
		require.False(t, called, "the reaper has it called, when the hand-off has passed")
		w.sweepUntilCalled()
	}
	w.durable = own
	require.Equal(t, execution.Completed, w.drive().State)
	require.NotContains(t, w.types(), execution.TypeExecutionSuspended)
	require.NotContains(t, w.types(), execution.TypeRetryScheduled)
}

func (w *world) sweepUntilCalled() {
	w.t.Helper()
	for range 100 {
		w.pass()
		w.sweep()
		if task, called := w.queue.pop(); called {
			require.NoError(w.t, w.queue.Enqueue(w.t.Context(), task))
			return
		}
	}
	require.Fail(w.t, "nobody is called")
}

// Histories and answers of a later release tell of it too; what is damaged does not.
func TestRecordsTellWhetherALaterReleaseWroteThem(t *testing.T) {
	t.Parallel()
	message := func(data string) error { _, err := Message([]byte(data)); return err }
	checkpoint := func(data string) error { _, err := DecodeCheckpoint([]byte(data)); return err }
	receipt := func(data string) error { _, err := decodeReceipt([]byte(data)); return err }
	child := func(data string) error { _, err := journal.DecodeChildResult([]byte(data)); return err }
	reply := func(data string) error {
		m := &machine{situation: situation{inbox: []journal.InboxEntry{{RequestID: "r", Payload: []byte(data)}}}}
		_, _, err := m.reply("r")
		return err
	}
	for _, newer := range []error{
		message(`{"v":2,"role":"user","text":"a"}`), message(`{"v":2,"role":{"of":"another shape"}}`),
		message(`{"role":"tool","sealed":{"callId":"c","receipt":{"v":9}}}`),
		checkpoint(`{"v":3,"n":"zz"}`), checkpoint(`{"v":2,"s":0,"n":"rs","l":{"maxSomething":1}}`),
		receipt(`{"v":2}`), child(`{"v":2,"type":"child"}`), reply(`{"v":2,"type":"user_message"}`),
	} {
		require.ErrorIs(t, newer, execution.ErrNewer)
	}
	for _, damaged := range []error{
		message(`{"role":`), message(`{"role":7}`), checkpoint(`{"v":2,"s":0,"n":"rs"`), checkpoint(`{"v":0,"n":"rs"}`),
		checkpoint(`{"v":2,"s":0,"n":"rs"} {}`), checkpoint(`{"v":2,"s":"0","n":"rs"}`), checkpoint(``), receipt(`{"v":1,"result":7}`),
		reply(`{"type":7}`),
	} {
		require.ErrorIs(t, damaged, ErrCheckpoint)
		require.False(t, errors.Is(damaged, execution.ErrNewer), damaged)
	}
	for _, read := range []error{message(`{"v":1,"role":"user","text":"a"}`), reply(`{"type":"user_message"}`)} {
		require.NoError(t, read)
	}
}
