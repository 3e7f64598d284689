package upgrade

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

var writeName = flag.String("write", "", "write the fixture of this name, with the programs as they are")

// later is when what waits for a time in a fixture is due: behind its writing, and before now as load has it.
const later = 90 * time.Second

// writer writes a fixture.
type writer struct {
	*world
	t      *testing.T
	api    *harness.API
	scenes []Scene
}

// TestWriteFixture is `make fixture`. It makes executions of all kinds, lets them come to where they rest, kills all programs in
// the middle of their work, and writes down what Redis holds then.
func TestWriteFixture(t *testing.T) {
	t.Parallel()
	if *writeName == "" {
		t.Skip("it writes a fixture, with -write and its name")
	}
	dir := filepath.Join("testdata", *writeName)
	_, err := os.Stat(dir)
	require.ErrorIs(t, err, fs.ErrNotExist, "a fixture is never written again")
	agents, err := os.ReadFile(filepath.Join("testdata", agentsFile))
	require.NoError(t, err)
	w := &writer{t: t, world: newWorld(t, string(agents), harness.FaultTag, map[string]string{"PAWL_MAX_RECLAIMS": "1"})}
	w.tools.Behave("/down", func(context.Context, harness.ToolCall) (int, string) { return http.StatusServiceUnavailable, "down" })
	w.tools.Behave("/pay", harness.Hang)
	w.api = w.world.api()
	reaper := w.Reaper()
	w.quarantine()
	worker := w.Worker()
	w.ended()
	w.asking()
	w.stopped()
	w.waiting()
	w.talks()
	w.inTheAir(reaper, worker)
	w.api.Kill()
	w.keep(dir, agents)
}

func (w *writer) add(scene Scene) execution.ID {
	w.scenes = append(w.scenes, scene)
	return scene.ID
}

// submit submits what the body says, with the name as its idempotency key.
func (w *writer) submit(name string, body execution.CreateRequest) execution.ID {
	w.t.Helper()
	answer, err := w.api.TrySubmit(context.Background(), name, body)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusAccepted, answer.Status, "%s: %s", name, answer.Body)
	view, err := answer.View()
	require.NoError(w.t, err)
	return view.ID
}

func (w *writer) say(name, agent string) execution.ID {
	body := harness.Submission(agent, "Oslo, please")
	body.Metadata = map[string]string{"scene": name}
	return w.submit(name, body)
}

// rests waits until the execution waits for that.
func (w *writer) rests(id execution.ID, kind execution.WaitKind) {
	w.t.Helper()
	harness.Eventually(w.t, restTimeout, "it waits for "+string(kind), func() bool {
		wait := w.api.Get(id).Wait
		return wait != nil && wait.Kind == kind
	})
}

// quarantine kills worker after worker.
func (w *writer) quarantine() {
	id := w.add(Scene{Name: "quarantined", ID: w.say("quarantined", "quick"), Do: "resume", End: execution.Completed})
	const point = "claimed:before_model_request"
	for range 2 {
		w.Doomed(point).WaitFault(point)
	}
	worker := w.Worker()
	w.api.AwaitState(id, restTimeout, execution.Suspended)
	worker.StopCleanly()
}

// ended are executions that have ended.
func (w *writer) ended() {
	done := w.add(Scene{Name: "completed", ID: w.say("completed", "quick"), End: execution.Completed})
	w.api.AwaitState(done, restTimeout, execution.Completed)
	failed := w.add(Scene{Name: "failed", ID: w.say("failed", "broken"), End: execution.Failed})
	w.api.AwaitState(failed, restTimeout, execution.Failed)
	canceled := w.add(Scene{Name: "canceled", ID: w.say("canceled", "ask"), End: execution.Canceled})
	w.api.AwaitState(canceled, restTimeout, execution.WaitingForInput)
	w.api.Cancel(canceled)
	w.api.AwaitState(canceled, restTimeout, execution.Canceled)

	// A fork goes on from where the model had asked for its calls, and stands in a conversation that is based on the other.
	var step execution.Step
	for _, event := range w.checkpoints(done) {
		if event.Node == "model_response" && step == 0 {
			step = event.Step
		}
	}
	answer, err := w.api.Do(context.Background(), http.MethodPost, "/v1/executions/"+string(done)+"/fork",
		map[string]string{"Idempotency-Key": "fork"}, execution.ForkRequest{Step: step})
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusAccepted, answer.Status, string(answer.Body))
	view, err := answer.View()
	require.NoError(w.t, err)
	w.add(Scene{Name: "forked", ID: view.ID, End: execution.Completed})
	w.api.AwaitState(view.ID, restTimeout, execution.Completed)
}

func (w *writer) checkpoints(id execution.ID) []execution.Checkpoint {
	var page execution.CheckpointPage
	answer, err := w.api.Do(context.Background(), http.MethodGet, "/v1/executions/"+string(id)+"/checkpoints?limit=100", nil, nil)
	require.NoError(w.t, err)
	require.NoError(w.t, json.Unmarshal(answer.Body, &page))
	return page.Checkpoints
}

// asking are executions that wait for people.
func (w *writer) asking() {
	for _, one := range []Scene{
		{Name: "elicitation", Do: "reply", Answer: "Booked."},
		{Name: "approval", Do: "approve", Answer: "Refunded."},
		{Name: "client tool", Do: "draw", Answer: "Shown."},
		{Name: "large result", Do: "reply", Answer: "Read."},
		{Name: "question of a remote agent", Do: "reply", Answer: "Answered."},
	} {
		agents := map[string]string{
			"elicitation": "ask", "approval": "approve", "client tool": "show", "large result": "large", "question of a remote agent": "farther",
		}
		one.ID, one.End = w.say(one.Name, agents[one.Name]), execution.Completed
		w.api.AwaitState(w.add(one), restTimeout, execution.WaitingForInput)
	}
	body := harness.Submission("lent", "My invoices, please")
	body.Delegation = &execution.DelegationRequest{}
	lent := w.add(Scene{Name: "delegation", ID: w.submit("delegation", body), Do: "reply", End: execution.Completed, Answer: "Found."})
	w.api.AwaitState(lent, restTimeout, execution.WaitingForInput)
}

// stopped are executions that are suspended.
func (w *writer) stopped() {
	paused := w.add(Scene{Name: "paused", ID: w.say("paused", "ask"), Do: "resume and reply", End: execution.Completed, Answer: "Booked."})
	w.api.AwaitState(paused, restTimeout, execution.WaitingForInput)
	w.api.Pause(paused)
	w.api.AwaitState(paused, restTimeout, execution.Suspended)
	for _, one := range []Scene{
		{Name: "limit", ID: w.say("limit", "limited"), Do: "allow more", Answer: "Within limits."},
		{Name: "retries exhausted", ID: w.say("retries exhausted", "down"), Do: "resume", Answer: "Up again."},
	} {
		one.End = execution.Completed
		w.api.AwaitState(w.add(one), restTimeout, execution.Suspended)
	}
}

// waiting are executions that wait for a time, for a child, or for a remote agent.
func (w *writer) waiting() {
	parent := w.say("parent", "parent")
	w.rests(parent, execution.WaitChild)
	child := w.api.Get(parent).Children[0].ID
	w.api.AwaitState(child, restTimeout, execution.WaitingForInput)
	w.add(Scene{Name: "child", ID: child, Do: "reply", End: execution.Completed, Answer: "Booked."})
	w.add(Scene{Name: "parent", ID: parent, End: execution.Completed, Answer: "Done by another."})
	for _, one := range []struct {
		name, agent string
		wait        execution.WaitKind
	}{{"retry", "busy", execution.WaitRetry}, {"remote agent at work", "far", execution.WaitRemote}} {
		id := w.add(Scene{Name: one.name, ID: w.say(one.name, one.agent), End: execution.Completed, Answer: "At last."})
		w.rests(id, one.wait)
	}
	body := harness.Submission("quick", "Oslo, later")
	body.StartAtMs = time.Now().Add(later).UnixMilli()
	timer := w.add(Scene{Name: "scheduled", ID: w.submit("scheduled", body), End: execution.Completed})
	w.rests(timer, execution.WaitSchedule)
}

// talks are conversations: one with executions that have ended, one that is active and one behind it, under an id that the client
// chose; and one whose history went back.
func (w *writer) talks() {
	in := func(conversation execution.ConversationID, name, agent string, busy execution.OnBusy) execution.ID {
		body := harness.Submission(agent, "About Oslo")
		body.ConversationID, body.OnBusy = conversation, busy
		return w.submit(name, body)
	}
	first := w.add(Scene{Name: "first of a conversation", ID: in("talk:1", "first", "quick", ""), End: execution.Completed})
	w.api.AwaitState(first, restTimeout, execution.Completed)
	second := Scene{Name: "second of a conversation", ID: in("talk:1", "second", "ask", ""), Do: "reply", End: execution.Completed}
	w.api.AwaitState(w.add(second), restTimeout, execution.WaitingForInput)
	w.add(Scene{Name: "third of a conversation", ID: in("talk:1", "third", "quick", execution.BusyEnqueue), End: execution.Completed})

	before := w.add(Scene{Name: "rolled back", ID: in("talk-2", "before", "ask", ""), End: execution.Canceled})
	w.api.AwaitState(before, restTimeout, execution.WaitingForInput)
	again := w.add(Scene{
		Name: "instead of it", ID: in("talk-2", "again", "ask", execution.BusyRollback), Do: "reply", End: execution.Completed,
	})
	w.api.AwaitState(again, restTimeout, execution.WaitingForInput)
	w.api.AwaitState(before, restTimeout, execution.Canceled)
}

// inTheAir are executions that workers held when they died, with nobody to take them up, and one that no worker had taken.
func (w *writer) inTheAir(reaper, worker *harness.Process) {
	reaper.Kill()
	paying := w.say("sending", "pay")
	w.tools.WaitCalls(w.t, restTimeout, "/pay", 1)
	worker.Kill()
	w.add(Scene{Name: "sending", ID: paying, Do: "approve", End: execution.Completed, Answer: "Paid."})
	for _, node := range []string{
		"run_start", "prepare_model_request", "before_model_request", "model_response", "tool_call", "tool_return", "validate_output",
	} {
		name := "held at " + node
		w.add(Scene{Name: name, ID: w.say(name, "quick"), End: execution.Completed})
		w.Doomed("claimed:" + node).WaitFault("claimed:" + node)
	}
	w.add(Scene{Name: "queued", ID: w.say("queued", "quick"), End: execution.Completed})
}

// keep writes the files.
func (w *writer) keep(dir string, agents []byte) {
	ctx := context.Background()
	for i := range w.scenes {
		scene := &w.scenes[i]
		stands, err := w.Redis.HMGet(ctx, harness.RowKey(scene.ID), "state", "node").Result()
		require.NoError(w.t, err)
		state, _ := stands[0].(string)
		scene.State = execution.State(state)
		scene.Node, _ = stands[1].(string)
	}
	scenes, err := json.MarshalIndent(w.scenes, "", "  ")
	require.NoError(w.t, err)
	require.NoError(w.t, os.MkdirAll(dir, 0o755))
	file, err := os.Create(filepath.Join(dir, dumpFile))
	require.NoError(w.t, err)
	require.NoError(w.t, errors.Join(writeDump(ctx, w.Redis, file), file.Close()))
	for name, data := range map[string][]byte{scenesFile: append(scenes, '\n'), agentsFile: agents} {
		require.NoError(w.t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	require.NoError(w.t, sum(dir))
}
