package a2a_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

// receiver is somebody who is told of tasks.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	refuses int // so many requests are answered with status first
	status  int
	told    []notification
}

type notification struct {
	header http.Header
	task   sdk.Task
}

func receive(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusServiceUnavailable}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		var task sdk.Task
		if err != nil || json.Unmarshal(body, &task) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.refuses > 0 {
			r.refuses--
			w.Header().Set("Location", "http://127.0.0.1:1/elsewhere")
			w.WriteHeader(r.status)
			return
		}
		r.told = append(r.told, notification{req.Header, task})
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) states() []sdk.TaskState {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []sdk.TaskState
	for _, one := range r.told {
		if len(all) == 0 || all[len(all)-1] != one.task.Status.State { // at least once, each
			all = append(all, one.task.Status.State)
		}
	}
	return all
}

func (r *receiver) all() []notification {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told
}

// hears waits until the receiver was told of a state last.
func (r *receiver) hears(t testing.TB, want sdk.TaskState) notification {
	t.Helper()
	require.Eventually(t, func() bool {
		all := r.states()
		return len(all) > 0 && all[len(all)-1] == want
	}, patience, time.Millisecond, "want %s", want)
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.told[len(r.told)-1]
}

func sendWith(t testing.TB, p *peer, id string, config *sdk.PushConfig) *sdk.Task {
	t.Helper()
	no := false
	result, err := p.client("demo").SendMessage(bounded(t), &sdk.MessageSendParams{
		Message: message(id, "hello"), Config: &sdk.MessageSendConfig{Blocking: &no, PushConfig: config},
	})
	require.NoError(t, err)
	return result.(*sdk.Task)
}

func TestWhoeverAsksIsToldOfEveryState(t *testing.T) {
	t.Parallel()
	p, r := serve(t, memory(t), change{tell: true}), receive(t)
	task := sendWith(t, p, "m1", &sdk.PushConfig{
		URL: r.URL + "/told", Token: "t-1", Auth: &sdk.PushAuthInfo{Schemes: []string{"bearer"}, Credentials: "s3cret"},
	})
	w := p.worker(task)
	r.hears(t, sdk.TaskStateWorking)
	w.Ask(linktest.Elicitation("r1"))
	r.hears(t, sdk.TaskStateInputRequired)
	send(t, p.client("demo"), to(task, message("m2", "yes")))
	r.hears(t, sdk.TaskStateWorking)
	w.AskAgain("r1", linktest.Elicitation("r2"))
	require.Equal(t, "r2", r.hears(t, sdk.TaskStateInputRequired).task.Status.Message.ID)
	send(t, p.client("demo"), to(task, message("m3", "yes")))
	p.worker(task).Complete("done")
	last := r.hears(t, sdk.TaskStateCompleted)
	require.Equal(t, "t-1", last.header.Get("X-A2A-Notification-Token"))
	require.Equal(t, "Bearer s3cret", last.header.Get("Authorization"))
	require.Equal(t, task.ID, last.task.ID)
	require.Equal(t, sdk.TextPart{Text: "done"}, last.task.Artifacts[0].Parts[0])
	forgotten(t, p, task)
}

// forgotten waits until nobody looks after a task any more.
func forgotten(t testing.TB, p *peer, task *sdk.Task) {
	t.Helper()
	require.Eventually(t, func() bool {
		if err := p.store.KeepPushes(bounded(t), []execution.ID{execution.ID(task.ID)}, 0); err != nil {
			return false
		}
		taken, err := p.store.TakePushes(bounded(t), 100, 0)
		return err == nil && len(taken) == 0
	}, patience, 5*time.Millisecond)
}

func TestANotificationIsSentAgainUntilItIsTaken(t *testing.T) {
	t.Parallel()
	p, r := serve(t, memory(t), change{tell: true}), receive(t)
	r.refuses = 3
	task := sendWith(t, p, "m1", &sdk.PushConfig{URL: r.URL})
	p.worker(task).Complete("done")
	r.hears(t, sdk.TaskStateCompleted)
	forgotten(t, p, task)
}

func TestANotificationThatIsRefusedIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusGone, http.StatusFound} { // no redirect is followed
		p, r := serve(t, memory(t), change{tell: true}), receive(t)
		r.refuses, r.status = 100, status
		task := sendWith(t, p, "m1", &sdk.PushConfig{URL: r.URL})
		p.worker(task).Complete("done")
		forgotten(t, p, task)
		require.Empty(t, r.states())
		r.mu.Lock()
		require.Greater(t, r.refuses, 90, "one attempt for each state")
		r.mu.Unlock()
	}
}

func TestANotificationIsGivenUpAfterAWhile(t *testing.T) {
	t.Parallel()
	p, r := serve(t, memory(t), change{tell: true, face: func(c *a2a.Config) { c.Push.GiveUp = 100 * time.Millisecond }}), receive(t)
	r.refuses = 1 << 30
	task := sendWith(t, p, "m1", &sdk.PushConfig{URL: r.URL})
	p.worker(task).Complete("done")
	forgotten(t, p, task)
}

// survives lets a process end that tells of a task, and another one go on.
func survives(t *testing.T, first, second journal.Store) {
	t.Helper()
	r := receive(t)
	old := serve(t, first, change{tell: true})
	task := sendWith(t, old, "m1", &sdk.PushConfig{URL: r.URL})
	w := old.worker(task)
	r.hears(t, sdk.TaskStateWorking)
	old.stop()
	w.Complete("done")
	fresh := serve(t, second, change{tell: true})
	r.hears(t, sdk.TaskStateCompleted)
	forgotten(t, fresh, task)
	require.Equal(t, sdk.TaskStateCompleted, r.states()[len(r.states())-1])
}

func TestNotificationsSurviveTheProcessThatSendsThem(t *testing.T) {
	t.Parallel()
	store := memory(t)
	survives(t, store, store)
}

func TestNotificationsSurviveTheProcessThatSendsThemOverRedis(t *testing.T) {
	t.Parallel()
	prefix := redistest.Prefix()
	survives(t, onRedis(t, prefix), onRedis(t, prefix))
}

// dying is a process that has died behind its last notification: it notes nothing, and gives nothing back.
type dying struct{ journal.Store }

func (dying) KeepPushes(context.Context, []execution.ID, time.Duration) error { return nil }

func (dying) MarkPushed(context.Context, execution.ID, string, string) error { return nil }

func TestAnotherProcessTellsOfWhatADeadOneLookedAfter(t *testing.T) {
	t.Parallel()
	store, r := memory(t), receive(t)
	old := serve(t, store, change{tell: true, face: func(c *a2a.Config) { c.Pushes = dying{store} }})
	task := sendWith(t, old, "m1", &sdk.PushConfig{URL: r.URL})
	w := old.worker(task)
	r.hears(t, sdk.TaskStateWorking)
	old.stop()
	before := len(r.all())
	fresh := serve(t, store, change{tell: true})
	require.Eventually(t, func() bool { return len(r.all()) > before }, patience, time.Millisecond, "what was not noted is told again")
	w.Complete("done")
	r.hears(t, sdk.TaskStateCompleted)
	forgotten(t, fresh, task)
}

func TestConfigsAreKeptShownWithoutSecretsAndDeleted(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	set := func(config sdk.PushConfig) (*sdk.TaskPushConfig, error) {
		return c.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: config})
	}
	one, err := set(sdk.PushConfig{
		ID: "one", URL: "https://example.com/a", Token: "hidden", Auth: &sdk.PushAuthInfo{Schemes: []string{"Basic"}, Credentials: "hidden"},
	})
	require.NoError(t, err)
	require.Equal(t, &sdk.TaskPushConfig{TaskID: task.ID, Config: sdk.PushConfig{
		ID: "one", URL: "https://example.com/a", Auth: &sdk.PushAuthInfo{Schemes: []string{"Basic"}},
	}}, one)
	named, err := set(sdk.PushConfig{URL: "https://example.com/b"})
	require.NoError(t, err)
	require.NotEmpty(t, named.Config.ID)
	again, err := set(sdk.PushConfig{URL: "https://example.com/b"})
	require.NoError(t, err)
	require.Equal(t, named, again, "the same address is the same config")

	got, err := c.GetTaskPushConfig(bounded(t), &sdk.GetTaskPushConfigParams{TaskID: task.ID, ConfigID: "one"})
	require.NoError(t, err)
	require.Equal(t, one, got)
	list, err := c.ListTaskPushConfig(bounded(t), &sdk.ListTaskPushConfigParams{TaskID: task.ID})
	require.NoError(t, err)
	require.Len(t, list, 2)
	shown, err := json.Marshal(list)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hidden")
	for range 2 {
		require.NoError(t, c.DeleteTaskPushConfig(bounded(t), &sdk.DeleteTaskPushConfigParams{TaskID: task.ID, ConfigID: "one"}))
	}
	_, err = c.GetTaskPushConfig(bounded(t), &sdk.GetTaskPushConfigParams{TaskID: task.ID, ConfigID: "one"})
	require.ErrorIs(t, err, sdk.ErrInvalidParams)
	for i := range journal.MaxPushConfigs - 1 {
		_, err = set(sdk.PushConfig{URL: "https://example.com/" + strings.Repeat("x", i+1)})
		require.NoError(t, err)
	}
	_, err = set(sdk.PushConfig{URL: "https://example.com/one-more"})
	require.ErrorIs(t, err, sdk.ErrUnsupportedOperation)
}

func TestNotificationsGoNowherePrivate(t *testing.T) {
	t.Parallel()
	for _, at := range []struct {
		name  string
		local bool
		allow string
		good  []string
		bad   []string
	}{
		{"on loopback", true, "", []string{"http://127.0.0.1:9/x", "http://localhost/x", "https://example.com"}, []string{"http://example.com"}},
		{"elsewhere", false, "", []string{"https://example.com/x?y=1", "https://93.184.216.34"}, []string{
			"https://127.0.0.1", "https://[::1]/x", "https://localhost", "http://127.0.0.1", "https://10.1.2.3", "https://192.168.1.1",
			"https://169.254.169.254/latest/meta-data", "https://[fd00::1]", "https://[::ffff:10.0.0.1]", "https://0.0.0.0",
			"https://100.64.0.1", "https://[64:ff9b::a00:1]", "https://224.0.0.1", "ftp://example.com", "https://u:p@example.com",
			"https://", "example.com", "", "https://" + strings.Repeat("x", 2048),
		}},
		{"with an exception", false, "10.1.0.0/16", []string{"https://10.1.2.3"}, []string{"https://10.2.2.3", "http://10.1.2.3"}},
	} {
		p := serve(t, memory(t), change{face: func(c *a2a.Config) {
			if c.PushLocal = at.local; at.allow != "" {
				c.PushAllow = []netip.Prefix{netip.MustParsePrefix(at.allow)}
			}
		}})
		c := p.client("demo")
		task := send(t, c, message("m1", "hello"))
		set := func(address string) error {
			_, err := c.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: sdk.PushConfig{ID: "x", URL: address}})
			return err
		}
		for _, address := range at.good {
			require.NoError(t, set(address), "%s: %s", at.name, address)
		}
		for _, address := range at.bad {
			require.ErrorIs(t, set(address), sdk.ErrInvalidParams, "%s: %s", at.name, address)
		}
	}
}

func TestConfigsThatCannotBeSentAreRefused(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	c := p.client("demo")
	task := send(t, c, message("m1", "hello"))
	for field, config := range map[string]sdk.PushConfig{
		"authentication.schemes":     {Auth: &sdk.PushAuthInfo{Schemes: []string{"Digest"}}},
		"authentication.credentials": {Auth: &sdk.PushAuthInfo{Schemes: []string{"Bearer"}, Credentials: "a\r\nX: y"}},
		"token":                      {Token: "a\nb"},
		"pushNotificationConfig.id":  {ID: strings.Repeat("x", 65)},
	} {
		config.URL = "https://example.com"
		_, err := c.SetTaskPushConfig(bounded(t), &sdk.TaskPushConfig{TaskID: task.ID, Config: config})
		require.ErrorContains(t, err, field)
	}
	none := serve(t, memory(t), change{face: func(c *a2a.Config) { c.Pushes = nil }})
	require.False(t, none.card("/a2a/demo/.well-known/agent-card.json").Capabilities.PushNotifications)
	_, body := none.rpc("/a2a/demo", `{"jsonrpc":"2.0","id":1,"method":"tasks/pushNotificationConfig/list","params":{"id":"x"}}`)
	require.Contains(t, body, `"code":-32003`)
}
