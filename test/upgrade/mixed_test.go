package upgrade

import (
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// ahead are executions of the newest fixture that a later release has been at work on, as far as the programs can see.
type ahead struct {
	world  *world
	scenes map[string]Scene
	stored map[string]string // what their newest checkpoints were
}

// record changes the newest checkpoint of an execution, or its row.
func (a *ahead) record(t *testing.T, name string) {
	t.Helper()
	key := harness.RowKey(a.scenes[name].ID) + ":checkpoints"
	stored, err := a.world.Redis.LIndex(t.Context(), key, -1).Result()
	require.NoError(t, err)
	a.stored[name] = stored
	changed := strings.Replace(stored, `{"v":2`, `{"v":3,"of":"a later release"`, 1)
	require.NotEqual(t, stored, changed)
	require.NoError(t, a.world.Redis.LSet(t.Context(), key, -1, changed).Err())
}

// back is what workers of the later release find: they can read it.
func (a *ahead) back(t *testing.T, name string) {
	t.Helper()
	require.NoError(t, a.world.Redis.LSet(t.Context(), harness.RowKey(a.scenes[name].ID)+":checkpoints", -1, a.stored[name]).Err())
}

// In a fleet of two releases, or after a return to the one before, programs of the older one leave alone what the later one has
// written: nothing of it fails, is suspended or lost, however long it takes, people are told, and workers of the later release go on
// with it. All the rest goes on meanwhile.
func TestWhatALaterReleaseWroteIsLeftToIt(t *testing.T) {
	t.Parallel()
	all := fixtures(t)
	w, scenes := open(t, all[len(all)-1])
	a := &ahead{world: w, scenes: map[string]Scene{}, stored: map[string]string{}}
	for _, scene := range scenes {
		a.scenes[scene.Name] = scene
	}
	checkpoints := []string{"queued", "held at tool_call", "retry"}
	for _, name := range checkpoints {
		a.record(t, name)
	}
	row := a.scenes["held at model_response"].ID
	require.NoError(t, w.Redis.HSet(t.Context(), harness.RowKey(row), "v", "2").Err())

	api := w.api()
	admin := harness.FreeAddr(t)
	worker, reaper := w.Worker(map[string]string{"PAWL_ADMIN_ADDR": admin}), w.Reaper()
	api.AwaitState(a.scenes["held at prepare_model_request"].ID, restTimeout, execution.Completed)
	for _, name := range checkpoints {
		id := a.scenes[name].ID
		harness.Eventually(t, restTimeout, name+" was given back, and again", func() bool {
			return worker.LogCount(`"left to a worker of a later release","program":"worker","execution":"`+string(id)+`"`) > 1
		})
		view := api.Get(id)
		require.Equal(t, execution.Running, view.State, name)
		require.Nil(t, view.Suspension, name)
		var why execution.Why
		get(t, api, "/v1/executions/"+string(id)+"/why", &why)
		require.Contains(t, why.Detail, "A later release has been at work on it", name)
	}
	require.Positive(t, metric(t, "http://"+admin, "pawl_newer_total"))
	answer, err := api.Do(t.Context(), http.MethodGet, "/v1/executions/"+string(row), nil, nil)
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status, string(answer.Body))
	require.Contains(t, string(answer.Body), "later release")
	out, err := w.doctor(t)
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended, out)
	require.Len(t, regexp.MustCompile(`(?m)^newer  `).FindAllString(out, -1), len(checkpoints)+1, out)
	require.NotContains(t, out, "unreadable")

	for _, name := range checkpoints {
		a.back(t, name)
	}
	require.NoError(t, w.Redis.HSet(t.Context(), harness.RowKey(row), "v", "1").Err())
	for _, id := range []execution.ID{a.scenes["queued"].ID, a.scenes["held at tool_call"].ID, a.scenes["retry"].ID, row} {
		api.AwaitState(id, 2*restTimeout, execution.Completed)
		events := api.Events(id)
		harness.CheckLog(t, id, events)
		require.NotContains(t, harness.Types(events), execution.TypeExecutionSuspended)
	}
	require.NotContains(t, reaper.Log(), "set aside")
}

// metric is the value of a metric without labels.
func metric(t *testing.T, url, name string) float64 {
	t.Helper()
	response, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }() // read to its end
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(text)
	require.NotNil(t, found, name)
	value, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return value
}
