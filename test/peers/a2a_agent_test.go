//go:build peers

package peers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// nodeAgent starts the agent of the A2A SDK for Node, and is its address.
func nodeAgent(t *testing.T, arguments ...string) string {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers"))
	require.NoError(t, err)
	require.DirExists(t, filepath.Join(folder, "node_modules", "@a2a-js", "sdk"), "run make test/peers")
	command := exec.CommandContext(t.Context(), "node", append([]string{"testdata/a2a_agent.mjs", folder}, arguments...)...)
	output, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	lines := bufio.NewScanner(output)
	require.True(t, lines.Scan(), "the agent does not say where it is")
	return lines.Text()
}

// counted is what the agent has begun and was told to cancel.
func counted(t *testing.T, url string) (begun, canceled int) {
	t.Helper()
	response := ask(t, http.MethodGet, url+"/count")
	defer func() { _ = response.Body.Close() }()
	var count struct{ Begun, Canceled int }
	require.NoError(t, json.NewDecoder(response.Body).Decode(&count))
	return count.Begun, count.Canceled
}

func ask(t *testing.T, method, url string) *http.Response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	return response
}

// remoteRun plays the executor on a run of a remote agent: what it knows between two calls is bytes.
type remoteRun struct {
	t       *testing.T
	backend backend.Backend
	request backend.RootRunRequest
}

func remoteAgent(t *testing.T, endpoint string) *remoteRun {
	t.Helper()
	catalog, err := agent.Parse("agents.yaml", []byte("agents:\n  node:\n    backend: a2a\n    endpoint: "+endpoint+"\n"))
	require.NoError(t, err)
	definition, _ := catalog.Agent("node")
	where, err := a2a.EndpointOf(definition, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	factory, err := a2a.NewFactory(a2a.Config{})
	require.NoError(t, err)
	t.Cleanup(factory.Close)
	built, err := factory.Build(where)
	require.NoError(t, err)
	p := execution.RandomPartition()
	return &remoteRun{t: t, backend: built, request: backend.RootRunRequest{
		AgentID:  "node",
		Identity: backend.RunIdentity{RunID: execution.NewID(p), ConversationID: execution.NewConversationID(p), AgentID: "node"},
	}}
}

func (r *remoteRun) call(text string) (backend.RunResult, error) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	r.request.NewMessages = nil
	if text != "" {
		r.request.NewMessages = []backend.Message{{Message: execution.Message{Role: execution.RoleUser, Text: text}}}
	}
	result, err := r.backend.ExecuteRoot(ctx, r.request)
	if err == nil {
		kept, err := json.Marshal(result.State)
		require.NoError(r.t, err)
		r.request.State, r.request.IsContinuation = new(backend.PersistedState), true
		require.NoError(r.t, json.Unmarshal(kept, r.request.State))
	}
	return result, err
}

// say tells the agent something and looks, as the backend wishes, until it no longer works on it.
func (r *remoteRun) say(text string) backend.RunResult {
	r.t.Helper()
	result, err := r.call(text)
	require.NoError(r.t, err)
	for deadline := time.Now().Add(60 * time.Second); isAwaiting(result); {
		require.True(r.t, time.Now().Before(deadline), "the run does not end")
		timer := time.NewTimer(result.After)
		<-timer.C
		result, err = r.call("")
		require.NoError(r.t, err)
	}
	return result
}

func isAwaiting(result backend.RunResult) bool {
	return result.StatusReason != nil && *result.StatusReason == backend.AwaitingTasks
}

func (r *remoteRun) handle() (handle struct{ TaskID, ContextID, Protocol string }) {
	r.t.Helper()
	require.NoError(r.t, json.Unmarshal(r.request.State.Extensions[a2a.StateKey], &handle))
	return handle
}

// Every state of a task that the SDK for Node can show, by looks and by streams. The version is what the agent's card gave.
func TestRemoteAgentOfTheSDKForNode(t *testing.T) {
	t.Parallel()
	url := nodeAgent(t, "compat")
	for name, options := range map[string]string{"looks": "poll: 50ms", "streams": "poll: 50ms, stream: true"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fresh := func() *remoteRun { return remoteAgent(t, `{url: "`+url+`", `+options+`}`) }

			r := fresh()
			result := r.say("complete")
			require.Equal(t, backend.CompletedStatus(), result.Status)
			require.Equal(t, "Roses are red.", *result.Output.Text)
			require.Len(t, result.Output.Artifacts, 2)
			require.JSONEq(t, `{"lines":1}`, string(result.Output.Artifacts[1].Content))
			require.Equal(t, "0.3", r.handle().Protocol, "the version that this pair speaks")
			require.NotEmpty(t, r.handle().ContextID)

			r = fresh()
			require.Equal(t, "said at once", *r.say("say").Output.Text)
			require.Empty(t, r.handle().TaskID)

			r = fresh()
			require.Equal(t, "waiting_input: Which color?", r.say("ask").Status.String())
			task := r.handle().TaskID
			require.Equal(t, "heard red", *r.say("red").Output.Text)
			require.Equal(t, task, r.handle().TaskID)

			r = fresh()
			require.Equal(t, "waiting_auth: Log in.", r.say("auth").Status.String())
			require.Equal(t, "heard done", *r.say("done").Output.Text)

			require.Equal(t, "failed: the remote agent failed: it broke", fresh().say("fail").Status.String())
			require.Equal(t, "failed: the remote agent rejected the message: not for me", fresh().say("reject").Status.String())
		})
	}
}

func TestCaseK5_AWorkingTaskOfTheSDKForNodeIsCanceled(t *testing.T) {
	t.Parallel()
	url := nodeAgent(t, "compat")
	r := remoteAgent(t, `{url: "`+url+`"}`)
	result, err := r.call("hold")
	require.NoError(t, err)
	require.True(t, isAwaiting(result))
	other := remoteAgent(t, `{url: "`+url+`"}`) // another process, which has what was kept
	require.NoError(t, other.backend.Abort(t.Context(), backend.AbortRequest{Identity: r.request.Identity, State: r.request.State}))
	begun, canceled := counted(t, url)
	require.Equal(t, 1, begun)
	require.Equal(t, 1, canceled)
	require.Equal(t, backend.CanceledStatus(), r.say("").Status)
	require.NoError(t, other.backend.Abort(t.Context(), backend.AbortRequest{Identity: r.request.Identity, State: r.request.State}))
}

func TestATaskOfTheSDKForNodeIsHeldWhileNobodyLooks(t *testing.T) {
	t.Parallel()
	url := nodeAgent(t, "compat")
	r := remoteAgent(t, `{url: "`+url+`", poll: 50ms}`)
	_, err := r.call("hold")
	require.NoError(t, err)
	require.NoError(t, ask(t, http.MethodPost, url+"/release").Body.Close())
	require.Equal(t, "held", *r.say("").Output.Text)
	begun, _ := counted(t, url)
	require.Equal(t, 1, begun)
}

// What cannot talk to each other says so.
func TestRemoteAgentThatSpeaksOnlyOnePointZero(t *testing.T) {
	t.Parallel()
	r := remoteAgent(t, `{url: "`+nodeAgent(t)+`"}`)
	_, err := r.call("complete")
	var failed *local.Error
	require.ErrorAs(t, err, &failed)
	require.Equal(t, local.Permanent, failed.Kind)
	require.Equal(t, a2a.CodeVersion, failed.Code)
	require.Contains(t, failed.Message, "the agent speaks JSONRPC 1.0; Pawl speaks A2A 0.3 by JSONRPC")
}

// An agent of somebody else's on the SDK for Node of the times of 0.3, one of several behind one address.
func TestRemoteAgentOfMockLLM(t *testing.T) {
	t.Parallel()
	url := serve(t, "mock-llm", func(string) []string { return nil })
	r := remoteAgent(t, `{url: "`+url+`/a2a/agents", target: countdown-agent, poll: 500ms}`)
	result := r.say("Countdown from 1")
	require.Equal(t, backend.CompletedStatus(), result.Status)
	require.Regexp(t, `^0\.[23]`, r.handle().Protocol)
	require.NotEmpty(t, *result.Output.Text)
}
