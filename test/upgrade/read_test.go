package upgrade

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// since is how long ago a fixture was written, to the programs that go on with it: all claims have run out by then, and what waits
// for a time is due.
const since = later + 30*time.Second

// open loads a fixture into a Redis of its own.
func open(t *testing.T, dir string) (*world, []Scene) {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{agentsFile, dumpFile, scenesFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		files[name] = string(data)
	}
	var scenes []Scene
	require.NoError(t, json.Unmarshal([]byte(files[scenesFile]), &scenes))
	w := newWorld(t, files[agentsFile], "none", nil)
	require.NoError(t, load(t.Context(), w.Redis, files[dumpFile], since))
	return w, scenes
}

// Cases A8 and A14: whatever an earlier release has stored is read by this one: each execution as it stands, with all that it has done. And it goes on
// with it: what rests waits for what it waited for, what nobody holds is taken up, and each comes to the end that it would have
// come to.
func TestProgramsGoOnWithWhatEarlierReleasesStored(t *testing.T) {
	t.Parallel()
	for _, dir := range fixtures(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			t.Parallel()
			w, scenes := open(t, dir)
			api := w.api()
			before := map[execution.ID]pages{}
			for _, scene := range scenes {
				require.Equal(t, scene.State, api.Get(scene.ID).State, scene.Name)
				before[scene.ID] = readAll(t, api, scene)
			}
			worker, reaper := w.Worker(), w.Reaper()
			endAll(t, api, scenes)
			for _, scene := range scenes {
				ended(t, api, scene, before[scene.ID])
			}
			for _, call := range w.tools.Calls("/pay") {
				require.Equal(t, 1, call.Attempt, "once more, because a person said so")
			}
			w.clean(t)
			for _, program := range []*harness.Process{api.Process, worker, reaper} {
				for _, word := range []string{"cannot be read", "unreadable", "later release", "set aside", "\"level\":\"ERROR\""} {
					require.NotContains(t, program.Log(), word, program.Name)
				}
			}
		})
	}
}

// endAll does what people do, each execution's as soon as it can be done, and waits for all ends.
func endAll(t *testing.T, api *harness.API, scenes []Scene) {
	t.Helper()
	acts := people(t, api)
	for _, scene := range scenes {
		if scene.Do != "" {
			require.Contains(t, acts, scene.Do)
			acts[scene.Do](scene.ID)
		}
	}
	for _, scene := range scenes {
		view := api.AwaitState(scene.ID, restTimeout, scene.End)
		if scene.Answer != "" {
			require.Equal(t, scene.Answer, view.Outcome.Answer, scene.Name)
		}
	}
}

// pages are what the API shows of an execution beside its view.
type pages struct {
	events      []execution.Event
	checkpoints execution.CheckpointPage
	messages    execution.MessagePage
	calls       execution.ToolCallPage
}

// readAll reads everything that the API has about an execution.
func readAll(t *testing.T, api *harness.API, scene Scene) (p pages) {
	t.Helper()
	p.events = api.Events(scene.ID)
	for _, event := range p.events {
		require.NotEqual(t, execution.TypeUnreadable, event.Payload.EventType(), scene.Name)
	}
	at := "/v1/executions/" + string(scene.ID)
	get(t, api, at+"/checkpoints?limit=1000", &p.checkpoints)
	require.Len(t, p.checkpoints.Checkpoints, int(api.Get(scene.ID).Step)+1, scene.Name)
	for _, checkpoint := range p.checkpoints.Checkpoints {
		require.NotEqual(t, "null", string(checkpoint.Evidence), "%s at %d", scene.Name, checkpoint.Step)
		require.NotZero(t, checkpoint.CommittedAtMs)
	}
	get(t, api, at+"/messages?limit=1000", &p.messages)
	get(t, api, at+"/tool-calls?limit=1000", &p.calls)
	for _, call := range p.calls.ToolCalls {
		if call.Result != nil && call.Result.Blob != nil {
			get(t, api, at+"/blobs/"+call.Result.Blob.Hash, nil)
		}
	}
	get(t, api, at+"/why", nil)
	get(t, api, "/dashboard/executions/"+string(scene.ID), nil)
	return p
}

func get(t *testing.T, api *harness.API, path string, into any) {
	t.Helper()
	answer, err := api.Do(t.Context(), http.MethodGet, path, nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Status, "%s: %s", path, answer.Body)
	if into != nil {
		require.NoError(t, json.Unmarshal(answer.Body, into), path)
	}
}

// ended looks at an execution that has come to its end: what had been written is there as it was, and the log is whole.
func ended(t *testing.T, api *harness.API, scene Scene, before pages) {
	t.Helper()
	after := readAll(t, api, scene)
	harness.CheckLog(t, scene.ID, after.events)
	require.Equal(t, before.events, after.events[:len(before.events)], scene.Name)
	require.Equal(t, before.messages.Messages, after.messages.Messages[:len(before.messages.Messages)], scene.Name)
	steps := len(before.checkpoints.Checkpoints)
	require.Equal(t, before.checkpoints.Checkpoints, after.checkpoints.Checkpoints[:steps], scene.Name)
	if scene.State.Terminal() {
		require.Equal(t, before, after, "%s had ended", scene.Name)
	}
}

// clean expects that `pawl doctor` finds nothing.
func (w *world) clean(t *testing.T) {
	t.Helper()
	out, err := w.doctor(t)
	require.NoError(t, err, out)
	require.Contains(t, out, "Everything is as it should be.")
}

// doctor is `pawl doctor` on the world's Redis.
func (w *world) doctor(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(harness.Programs(t, ""), "pawl"), append([]string{"doctor"}, args...)...)
	for _, pair := range w.Environment(nil) {
		if strings.HasPrefix(pair, "PAWL_REDIS_URL=") {
			cmd.Env = append(cmd.Env, pair)
		}
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
