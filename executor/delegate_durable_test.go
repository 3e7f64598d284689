package executor

import (
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
)

// family is a world whose execution is the root of a tree.
type family struct {
	*world
	definitions map[string]*agent.Definition
	kits        kitsOf
}

// newFamily submits an execution of the agent lead. The tools of the kits that run agents are declared by their specs.
func newFamily(t *testing.T, kits kitsOf, limits execution.Limits, change func(*Config)) *family {
	t.Helper()
	store, err := memjournal.New(journal.Config{SweepLock: -1})
	require.NoError(t, err)
	return newFamilyOn(t, store, func() { <-time.After(500 * time.Millisecond) }, kits, limits, change)
}

func newFamilyOn(t *testing.T, store journal.Store, pass func(), kits kitsOf, limits execution.Limits, change func(*Config)) *family {
	t.Helper()
	f := &family{
		world: &world{t: t, store: store, pass: pass, queue: &tasks{}}, definitions: map[string]*agent.Definition{}, kits: kits,
	}
	f.durable = f.born(change)
	roster := agent.Roster{Agents: map[string]string{}}
	for name := range kits {
		d := &agent.Definition{Name: name, OutputRetries: 1}
		switch {
		case name == "lead":
			d.Limits = limits
		case kits[name] == nil: // it is elsewhere
			d = farAway()
			d.Name = name
		}
		f.definitions[name], roster.Agents[name] = d, d.Hash()
		require.NoError(t, store.PutDefinition(t.Context(), d.Hash(), d.Canonical()))
	}
	data, hash, err := roster.Encode()
	require.NoError(t, err)
	require.NoError(t, store.PutDefinition(t.Context(), hash, data))
	f.reserve(hash)
	return f
}

// born is a new worker.
func (f *family) born(change func(*Config)) *Durable {
	return f.worker(nil, func(c *Config) {
		c.Builder = f.kits
		if change != nil {
			change(c)
		}
	})
}

func (f *family) reserve(roster string) {
	f.t.Helper()
	definition := f.definitions["lead"]
	request := execution.CreateRequest{Agent: "lead", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"}}
	checkpoint, node, messages, err := Opening(definition, request)
	require.NoError(f.t, err)
	overrides, err := agent.Adjustments{Roster: roster}.Encode()
	require.NoError(f.t, err)
	partition := execution.Partition(7)
	f.id = execution.NewID(partition)
	reservation, err := f.store.Reserve(f.t.Context(), journal.NewExecution{
		ID: f.id, ConversationID: execution.NewConversationID(partition), Caller: execution.LocalCaller(), Request: request,
		Definition: definition.Hash(), Overrides: overrides, Deadline: definition.Limits.Deadline, Checkpoint: checkpoint,
		Node: node, Messages: messages,
	})
	require.NoError(f.t, err)
	require.NoError(f.t, f.queue.Enqueue(f.t.Context(), reservation.Tasks...))
}

// get is the row of an execution.
func (f *family) get(id execution.ID) journal.Execution {
	f.t.Helper()
	row, err := f.store.Get(f.t.Context(), id)
	require.NoError(f.t, err)
	return row
}

func (f *family) children(id execution.ID) []journal.Child {
	f.t.Helper()
	children, err := f.store.Children(f.t.Context(), id)
	require.NoError(f.t, err)
	return children
}

// all are the execution and those below it.
func (f *family) all(id execution.ID) []journal.Execution {
	f.t.Helper()
	rows := []journal.Execution{f.get(id)}
	for _, child := range f.children(id) {
		rows = append(rows, f.all(child.ID)...)
	}
	return rows
}

// results are what the tools of an execution came to, as its model reads it.
func (f *family) results(id execution.ID) (texts []string) {
	f.t.Helper()
	stored, err := f.store.Messages(f.t.Context(), id, 0, 10_000)
	require.NoError(f.t, err)
	messages, err := decodeMessages(stored)
	require.NoError(f.t, err)
	for _, message := range messages {
		if message.ToolResult != nil {
			texts = append(texts, contentOf(f.t, *message.ToolResult))
		}
	}
	return texts
}

func TestAParentWaitsForItsChildrenWithoutAWorker(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{1, 8} {
		t.Run(fmt.Sprintf("with %d nodes per task", nodes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { parentWaits(t, nodes) })
		})
	}
}

func parentWaits(t *testing.T, nodes int) {
	t.Helper()
	f := newFamily(t, kitsOf{
		"lead": {Model: script(asksFor("research", "research"), text("done")), Tools: []local.Tool{
			agentTool("research", "researcher", agent.Durable, nil),
		}},
		"researcher": {Model: script(text("found"))},
	}, execution.Limits{}, func(c *Config) { c.NodesPerTask = nodes })
	for f.row().Wait == nil {
		require.NoError(t, f.next())
	}
	row := f.row()
	require.Equal(t, execution.WaitChild, row.Wait.Kind)
	require.Nil(t, row.Claim, "waiting costs nothing")
	children := f.children(f.id)
	require.Len(t, children, 2)
	child := f.get(children[0].ID)
	require.Equal(t, execution.ChildID(f.id, "call_0_0"), child.ID)
	require.Equal(t, &journal.Parent{Execution: f.id, Call: "call_0_0"}, child.Parent)
	require.Equal(t, row.Caller, child.Caller)
	require.Equal(t, row.Priority, child.Priority)
	require.Equal(t, "look", child.Request.Input.Text)

	require.Equal(t, execution.Completed, f.drive().State)
	require.Equal(t, []string{"found", "found"}, f.results(f.id))
	require.Equal(t, execution.Usage{Requests: 4, ToolCalls: 2, DelegatedRequests: 2}, f.row().Usage)
	require.Equal(t, 2, countOf(f.types(), execution.TypeToolStarted))
	require.Equal(t, 2, countOf(f.types(), execution.TypeToolCompleted))
}

func TestAChildRunsTheDefinitionThatTheTreeBeganWith(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		again := agentTool("again", "lead", agent.Durable, nil)
		f := newFamily(t, kitsOf{"lead": {Model: script(asksFor("again"), text("done")), Tools: []local.Tool{again}}}, execution.Limits{}, nil)
		require.Equal(t, execution.Completed, f.drive().State)
		rows := f.all(f.id)
		require.Len(t, rows, DefaultMaxDepth+1, "agents call each other at most so deep")
		for i, row := range rows {
			require.Equal(t, rows[0].Definition, row.Definition)
			require.Equal(t, string(rows[0].Overrides), string(row.Overrides), "and by one roster")
			checkpoint, err := f.store.Checkpoints(t.Context(), row.ID, 0, 1)
			require.NoError(t, err)
			decoded, err := DecodeCheckpoint(checkpoint[0].Data)
			require.NoError(t, err)
			require.Equal(t, i, decoded.State.Depth)
		}
		require.Equal(t, []string{"the agent lead was not started: agents call each other at most 5 deep"}, f.results(rows[DefaultMaxDepth].ID))
		require.Equal(t, int64(12), rows[0].Usage.Requests, "all that the tree has spent")
	})
}

func TestPeopleAreAskedWhileChildrenWork(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t, kitsOf{
			"lead": {Model: script(asksFor("research", "ask"), text("done")), Tools: []local.Tool{
				agentTool("research", "researcher", agent.Durable, nil),
				tool("ask", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "Which?"})),
			}},
			"researcher": {Model: script(text("found"))},
		}, execution.Limits{}, nil)
		require.Equal(t, execution.WaitingForInput, f.drive().State)
		for f.get(f.children(f.id)[0].ID).State != execution.Completed {
			require.NoError(t, f.next(), "the child works meanwhile")
		}
		require.Equal(t, execution.WaitingForInput, f.row().State, "its result waits in the inbox")
		f.answer(execution.Input{Type: execution.ElicitationResponse, Text: "the first"})
		require.Equal(t, execution.Completed, f.drive().State)
		require.Equal(t, []string{"found", "the first"}, f.results(f.id))
	})
}

func TestAnApprovalComesBeforeTheChild(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		research := agentTool("research", "researcher", agent.Durable, nil)
		research.spec.Approval = agent.Approval{Always: true}
		f := newFamily(t, kitsOf{
			"lead":       {Model: script(asksFor("research", "research"), text("done")), Tools: []local.Tool{research}},
			"researcher": {Model: script(text("found"))},
		}, execution.Limits{}, nil)
		require.Equal(t, execution.WaitingForInput, f.drive().State)
		require.Empty(t, f.children(f.id))
		f.answer(execution.Input{Type: execution.ToolApproval, Decisions: []execution.Decision{
			{CallID: "call_0_0", Decision: execution.Reject, Reason: "no"},
			{CallID: "call_0_1", Decision: execution.Edit, Arguments: json.RawMessage(`{"prompt":"look elsewhere"}`)},
		}})
		require.Equal(t, execution.Completed, f.drive().State)
		children := f.children(f.id)
		require.Len(t, children, 1)
		require.Equal(t, "look elsewhere", f.get(children[0].ID).Request.Input.Text)
		require.Equal(t, []string{"no", "found"}, f.results(f.id))
	})
}

func TestAChildMayBeAnAgentThatIsElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := turns(working("t1"), done("Found far away.", "t1"))
		f := newFamily(t, kitsOf{
			"lead": {Model: script(asksFor("research"), text("done")), Tools: []local.Tool{
				agentTool("research", "far", agent.Durable, nil),
			}},
			"far": nil,
		}, execution.Limits{MaxModelRequests: 5}, withRemotes(p))
		require.Equal(t, execution.Completed, f.drive().State)
		require.Equal(t, []string{"Found far away."}, f.results(f.id))
		require.Equal(t, "look", p.asked()[0].NewMessages[0].Text)
	})
}

func TestACanceledParentTakesItsTreeAlong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		again := agentTool("again", "lead", agent.Durable, nil)
		f := newFamily(t, kitsOf{"lead": {Model: script(asksFor("again", "again"), text("done")), Tools: []local.Tool{again}}}, execution.Limits{},
			func(c *Config) { c.MaxDepth = 3 })
		for range 25 {
			require.NoError(t, f.next())
		}
		require.Greater(t, len(f.all(f.id)), 3)
		_, err := f.store.Cancel(t.Context(), f.id)
		require.NoError(t, err)
		f.settle()
		for _, row := range f.all(f.id) {
			require.True(t, row.State.Terminal(), "%s %s", row.ID, row.State)
		}
		require.Equal(t, execution.Canceled, f.row().State)
	})
}

// settle runs tasks, and the reaper when there are none, until every execution of the tree has ended.
func (f *family) settle() {
	f.t.Helper()
	for range 2000 {
		open := false
		for _, row := range f.all(f.id) {
			open = open || !row.State.Terminal()
		}
		if !open {
			return
		}
		task, ok := f.queue.pop()
		if !ok {
			f.pass()
			f.sweep()
			continue
		}
		_ = f.durable.Run(f.t.Context(), task) // what was put back is found by the reaper
	}
	require.Fail(f.t, "the tree does not come to rest")
}
