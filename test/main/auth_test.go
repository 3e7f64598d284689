package main_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/test/harness"
)

// revocationBound is how long the manual says that a stream of a revoked key may stay open.
const revocationBound = 10 * time.Second

// madeKey is what `pawl keys create --json` prints.
type madeKey struct {
	ID     string `json:"id"`
	Tenant string `json:"tenant"`
	Text   string `json:"key"`
}

// keys runs `pawl keys` on the stack's Redis.
func keys(t *testing.T, stack *harness.Stack, args ...string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join(harness.Programs(t, ""), "pawl"), append([]string{"keys"}, args...)...)
	cmd.Env = []string{"PATH=", "HOME=" + stack.Home(), "PAWL_REDIS_URL=" + stack.Server.URL()}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "pawl keys %v: %s", args, out)
	return string(out)
}

func makeKey(t *testing.T, stack *harness.Stack, tenant, subject string, role execution.CallerRole) madeKey {
	t.Helper()
	var key madeKey
	out := keys(t, stack, "create", "--tenant", tenant, "--subject", subject, "--role", string(role), "--json")
	require.NoError(t, json.Unmarshal([]byte(out), &key), out)
	require.NotEmpty(t, key.Text)
	return key
}

// with is a client of the API that shows the key.
func with(t *testing.T, api *harness.API, key madeKey) *client.Client {
	t.Helper()
	c, err := client.New(api.URL, client.Config{APIKey: key.Text})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// openStream opens a stream as a browser or as an app does, reads its first event, and gives what says that it has ended.
func openStream(t *testing.T, url string, key madeKey) <-chan time.Time {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	if key.Text != "" {
		request.Header.Set("Authorization", "Bearer "+key.Text)
	}
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	t.Cleanup(func() { _ = response.Body.Close() })
	require.Equal(t, http.StatusOK, response.StatusCode)
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "event: execution_queued") {
	}
	ended := make(chan time.Time, 1)
	go func() {
		for lines.Scan() {
		}
		if lines.Err() == nil { // not cut: closed by the API
			ended <- time.Now()
		}
	}()
	return ended
}

func TestTwoTenantsThreeRolesAndARevocationOnRealProcesses(t *testing.T) {
	t.Parallel()
	tools := harness.Tools(t)
	stack := shipped(t, string(agent.Demo(tools.URL+"/lookup")))
	_, port, _ := strings.Cut(harness.FreeAddr(t), ":")
	guarded := map[string]string{"PAWL_AUTH": "keys", "PAWL_LOG_LEVEL": "debug", "PAWL_HTTP_ADDR": "0.0.0.0:" + port}
	first := stack.API(guarded)
	require.Equal(t, 1, first.LogCount("there is no API key"))
	second := stack.API(map[string]string{"PAWL_AUTH": "keys", "PAWL_LOG_LEVEL": "debug"})
	stack.Reaper()
	worker := stack.Worker(map[string]string{"PAWL_LOG_LEVEL": "debug"})
	app := makeKey(t, stack, "acme", "app", execution.SubmitRole)
	desk := makeKey(t, stack, "acme", "desk", execution.OperateRole)
	audit := makeKey(t, stack, "acme", "audit", execution.ReadRole)
	other := makeKey(t, stack, "other", "app", execution.OperateRole)
	duty := makeKey(t, stack, execution.AllTenants, "duty", execution.OperateRole)
	ctx, cancel := context.WithTimeout(context.Background(), 2*endTimeout)
	defer cancel()

	answer, err := first.TrySubmit(ctx, "", harness.Submission("demo", "Oslo, please"))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, answer.Status)
	created, err := with(t, first, app).Create(ctx, "order-7", harness.Submission("demo", "Oslo, please"))
	require.NoError(t, err)
	id := created.View.ID
	foreign, err := with(t, second, other).Create(ctx, "order-7", harness.Submission("demo", "Oslo, please"))
	require.NoError(t, err)
	require.NotEqual(t, id, foreign.View.ID)
	_, err = with(t, first, audit).Create(ctx, "order-7", harness.Submission("demo", "Oslo, please"))
	require.ErrorIs(t, err, execution.ErrForbidden)
	_, err = with(t, first, duty).Create(ctx, "order-7", harness.Submission("demo", "Oslo, please"))
	require.ErrorIs(t, err, execution.ErrForbidden)
	for _, api := range []*harness.API{first, second} {
		_, err = with(t, api, other).Execution(ctx, id)
		require.ErrorIs(t, err, execution.ErrNotFound)
		_, err = with(t, api, other).Cancel(ctx, id)
		require.ErrorIs(t, err, execution.ErrNotFound)
		_, err = with(t, api, audit).Execution(ctx, id)
		require.NoError(t, err)
		_, err = with(t, api, audit).Cancel(ctx, id)
		require.ErrorIs(t, err, execution.ErrForbidden)
		_, err = with(t, api, other).StreamToken(ctx, id)
		require.ErrorIs(t, err, execution.ErrNotFound)
		for key, want := range map[madeKey]int{app: 1, desk: 1, audit: 1, other: 1, duty: 2} {
			page, err := with(t, api, key).List(ctx, execution.ListQuery{})
			require.NoError(t, err)
			require.Len(t, page.Executions, want, "%s", key.Tenant)
		}
	}

	// A token that one replica minted opens the stream at another one.
	token, err := with(t, first, app).StreamToken(ctx, id)
	require.NoError(t, err)
	events := second.URL + "/v1/executions/" + string(id) + "/events"
	byKey := openStream(t, events, app)
	byToken := openStream(t, events+"?token="+token.Token, madeKey{})
	stays := openStream(t, events, desk)
	since := time.Now()
	require.Contains(t, keys(t, stack, "revoke", app.ID), app.ID+" is revoked")
	for name, ended := range map[string]<-chan time.Time{"by key": byKey, "by token": byToken} {
		select {
		case at := <-ended:
			t.Logf("the stream that was opened %s ended %v after the revocation began", name, at.Sub(since))
			require.Less(t, at.Sub(since), revocationBound, name)
		case <-ctx.Done():
			require.Fail(t, "the stream of a revoked key stays open", name)
		}
	}
	for _, api := range []*harness.API{first, second} {
		_, err = with(t, api, app).Execution(ctx, id)
		require.ErrorIs(t, err, execution.ErrUnauthenticated)
	}
	select {
	case <-stays:
		require.Fail(t, "another key's stream ended")
	default:
	}

	// The execution goes on without its submitter; an operator answers for it.
	require.Eventually(t, func() bool {
		view, err := with(t, second, desk).Execution(ctx, id)
		return err == nil && view.State == execution.WaitingForInput
	}, endTimeout, 50*time.Millisecond)
	view, err := with(t, second, duty).Execution(ctx, id)
	require.NoError(t, err)
	_, err = with(t, second, duty).SubmitInput(ctx, id, execution.SubmitInput{OperationID: "op-1", Input: execution.Input{
		Type: execution.ElicitationResponse, RequestID: view.Interaction.RequestID, Text: "yes",
	}})
	require.NoError(t, err)
	select {
	case <-stays: // after the terminal event
	case <-ctx.Done():
		require.Fail(t, "the stream of a good key never ended")
	}
	view, err = with(t, first, desk).Execution(ctx, id)
	require.NoError(t, err)
	require.Equal(t, execution.Completed, view.State)

	dump := fmt.Sprint(redistest.Dump(t, stack.Server.Client(t), "pawl"))
	listed := keys(t, stack, "list") + keys(t, stack, "list", "--json")
	require.Contains(t, listed, "revoked")
	for _, key := range []madeKey{app, desk, audit, other, duty} {
		require.Contains(t, dump, key.ID)
		require.Contains(t, listed, key.ID)
		for _, secret := range []string{key.Text, key.Text[18:], token.Token} {
			require.NotContains(t, dump+listed, secret)
			for _, process := range []*harness.Process{first.Process, second.Process, worker} {
				require.Zero(t, process.LogCount(secret), process.Name)
			}
		}
	}
	open := stack.API() // without keys, on this machine alone, and loudly
	require.Equal(t, 1, open.LogCount("API KEYS EXIST AND NOBODY IS ASKED FOR ONE"))
}

func TestDevWithKeysMakesTheFirstOne(t *testing.T) {
	t.Parallel()
	program := filepath.Join(harness.Programs(t, ""), "pawl")
	addr := harness.FreeAddr(t)
	dev := harness.Run(t, "pawl dev", t.TempDir(), program, []string{
		"PATH=", "HOME=" + t.TempDir(), "PAWL_HTTP_ADDR=" + addr, "PAWL_AUTH=keys", "PAWL_DATA_DIR=" + t.TempDir(),
	}, "dev")
	api := harness.Attach(t, dev, addr, endTimeout)
	_, after, found := strings.Cut(dev.Log(), "PAWL_API_KEY=")
	require.True(t, found, dev.Log())
	key := madeKey{Text: strings.Fields(after)[0]}
	answer, err := api.TrySubmit(t.Context(), "", harness.Submission("demo", "Oslo, please"))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, answer.Status)
	cmd := exec.Command(program, "submit", "demo", "Oslo, please")
	cmd.Env = []string{"PATH=", "HOME=" + t.TempDir(), "PAWL_URL=" + api.URL, "PAWL_API_KEY=" + key.Text}
	out, err := cmd.Output()
	require.NoError(t, err)
	id, err := execution.ParseID(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	c := with(t, api, key)
	require.Eventually(t, func() bool {
		view, err := c.Execution(t.Context(), id)
		return err == nil && view.State == execution.WaitingForInput
	}, endTimeout, 50*time.Millisecond)
	require.Equal(t, 1, dev.LogCount(key.Text), "it is shown once")
}
