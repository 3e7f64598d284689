//go:build peers

package peers_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

type noQueue struct{}

func (noQueue) Enqueue(context.Context, ...execution.Task) error { return nil }

// faced is an installation that the client of the A2A SDK for Node talks to. The test plays its worker.
type faced struct {
	*httptest.Server
	t     *testing.T
	store *memjournal.Store
}

func faceForNode(t *testing.T, secured bool) *faced {
	t.Helper()
	store, err := memjournal.New(journal.Config{})
	require.NoError(t, err)
	catalog, err := agent.NewCatalog(&agent.Definition{
		Name: "demo", Backend: "local", Publish: &agent.Publish{Name: "Demo"},
		Model: agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{Text: "done"}}},
	})
	require.NoError(t, err)
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	service, err := link.New(link.Config{
		Journal: store, Catalog: catalog, Enqueuer: noQueue{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith, Logger: logger,
	})
	require.NoError(t, err)
	f := &faced{Server: httptest.NewUnstartedServer(nil), t: t, store: store}
	face, err := a2a.New(a2a.Config{
		Link: service, Catalog: catalog, URL: "http://" + f.Listener.Addr().String(), Pushes: store, PushLocal: true,
		Secured: secured, Heartbeat: 50 * time.Millisecond, Logger: logger, Push: a2a.PushTiming{Look: 20 * time.Millisecond},
	})
	require.NoError(t, err)
	cfg := httpapi.Config{Link: service, Face: face, Logger: logger}
	if secured {
		cfg.Authenticate = func(r *http.Request) (execution.Authority, error) {
			if r.Header.Get("Authorization") != "Bearer s3cret" {
				return execution.Authority{}, execution.NewAPIError(execution.Unauthenticated, "a bearer key is needed")
			}
			return execution.LocalAuthority(), nil
		}
	}
	server, err := httpapi.New(cfg)
	require.NoError(t, err)
	f.Config.Handler = server
	f.Start()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- face.Run(ctx) }()
	t.Cleanup(func() {
		server.Drain()
		f.Close()
		cancel()
		require.NoError(t, <-ended)
	})
	return f
}

// told is a line of the client.
type told struct {
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	State     string `json:"state"`
	Says      any    `json:"says"`
	Artifacts []struct {
		ID    string   `json:"id"`
		Parts []string `json:"parts"`
	} `json:"artifacts"`
	History  []string `json:"history"`
	Append   bool     `json:"append"`
	Last     bool     `json:"last"`
	Parts    []string `json:"parts"`
	Sequence int      `json:"sequence"`
	Error    string   `json:"error"`
	URL      string   `json:"url"`
	Token    string   `json:"token"`
	Configs  []any    `json:"configs"`
	Deleted  bool     `json:"deleted"`
	Push     bool     `json:"push"`
}

// node runs the client and gives its lines as they come. The version that was agreed on is asserted, and is not one of them.
func (f *faced) node(call string, parameters map[string]any, headers ...string) <-chan told {
	f.t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers"))
	require.NoError(f.t, err)
	require.DirExists(f.t, filepath.Join(folder, "node_modules", "@a2a-js", "sdk"), "run make test/peers")
	given, err := json.Marshal(parameters)
	require.NoError(f.t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	command := exec.CommandContext(ctx, "node", append([]string{
		"testdata/a2a_client.mjs", folder, f.URL, "/a2a/demo/.well-known/agent-card.json", call, string(given),
	}, headers...)...)
	output, err := command.StdoutPipe()
	require.NoError(f.t, err)
	require.NoError(f.t, command.Start())
	lines := make(chan told, 100)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(lines)
		for scanner := bufio.NewScanner(output); scanner.Scan(); {
			var line told
			if err := json.Unmarshal(scanner.Bytes(), &line); err != nil {
				line.Error = fmt.Sprintf("%v: %s", err, scanner.Text())
			}
			lines <- line
		}
	}()
	f.t.Cleanup(func() {
		cancel()
		<-read
		_ = command.Wait()
	})
	require.Equal(f.t, "0.3", f.line(lines).Version, "the client falls back from 1.0")
	return lines
}

func (f *faced) line(lines <-chan told) told {
	f.t.Helper()
	select {
	case line := <-lines:
		return line
	case <-time.After(time.Minute):
		require.Fail(f.t, "the client says nothing")
		return told{}
	}
}

// one is the only line of a call.
func (f *faced) one(call string, parameters map[string]any, headers ...string) told {
	f.t.Helper()
	lines := f.node(call, parameters, headers...)
	line := f.line(lines)
	require.Zero(f.t, f.line(lines), "it says one thing")
	return line
}

func (f *faced) claim(id string) *linktest.Worker {
	f.t.Helper()
	return linktest.Claim(f.t, f.store, execution.ID(id))
}

type given = map[string]any

func TestTheClientForNodeDrivesEveryState(t *testing.T) {
	t.Parallel()
	f := faceForNode(t, false)
	require.True(t, f.one("card", given{}).Push)
	task := f.one("send", given{"id": "m1", "text": "hello"})
	require.Equal(t, "TASK_STATE_SUBMITTED", task.State)
	w := f.claim(task.ID)
	require.Equal(t, "TASK_STATE_WORKING", f.one("get", given{"id": task.ID}).State)
	w.Ask(linktest.Unknown("r1"))
	asked := f.one("get", given{"id": task.ID})
	require.Equal(t, "TASK_STATE_INPUT_REQUIRED", asked.State)
	require.Equal(t, "Again?", asked.Says.([]any)[0])
	require.Contains(t, asked.Says.([]any)[1], `"call_0_0"`)
	require.Contains(t, f.one("send", given{"id": "m2", "taskId": task.ID, "text": "hm"}).Says, "approve or reject")
	require.Equal(t, "TASK_STATE_WORKING", f.one("send", given{"id": "m3", "taskId": task.ID, "text": "approve"}).State)
	open := linktest.Elicitation("r2")
	open.Kind = execution.Authentication
	w.AskAgain("r1", open)
	require.Equal(t, "TASK_STATE_AUTH_REQUIRED", f.one("get", given{"id": task.ID}).State)
	require.Equal(t, "TASK_STATE_WORKING", f.one("send", given{"id": "m4", "taskId": task.ID, "text": "done"}).State)
	result := linktest.Elicitation("r3")
	result.Kind = execution.ClientToolResult
	w.AskAgain("r2", result)
	answer := given{"callId": "call_0_0", "result": []int{1, 2}}
	require.Equal(t, "TASK_STATE_WORKING", f.one("send", given{"id": "m5", "taskId": task.ID, "data": answer}).State)
	f.claim(task.ID).Commit(journal.Then{
		Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "[1]", Output: json.RawMessage("[1]")},
	})
	done := f.one("get", given{"id": task.ID, "history": 5})
	require.Equal(t, "TASK_STATE_COMPLETED", done.State)
	require.Equal(t, []string{"[1]", "[1]"}, done.Artifacts[0].Parts, "an output that is no object comes as it is")
	require.Equal(t, []string{"hello"}, done.History)

	failing := f.one("send", given{"id": "m6", "text": "hello", "contextId": task.ContextID})
	require.Equal(t, task.ContextID, failing.ContextID)
	f.claim(failing.ID).Commit(journal.Then{Kind: journal.ThenEnd, Failure: &execution.Failure{Code: "c", Message: "Broken."}})
	require.Equal(t, "TASK_STATE_FAILED", f.one("send", given{"id": "m6", "text": "hello", "contextId": task.ContextID, "wait": true}).State)
	canceled := f.one("send", given{"id": "m7", "text": "hello"})
	require.Equal(t, "TASK_STATE_CANCELED", f.one("cancel", given{"id": canceled.ID}).State)
	require.Equal(t, "TaskNotCancelableError", strings.TrimPrefix(f.one("cancel", given{"id": task.ID}).Error, "JsonRpc"))
	require.Equal(t, "TaskNotFoundError", strings.TrimPrefix(f.one("get", given{"id": "nobody"}).Error, "JsonRpc"))
}

func TestTheClientForNodeFollowsAndGoesOnWhereItStands(t *testing.T) {
	t.Parallel()
	f := faceForNode(t, false)
	lines := f.node("stream", given{"id": "m1", "text": "hello"})
	task := f.line(lines)
	require.Equal(t, "TASK_STATE_SUBMITTED", task.State)
	w := f.claim(task.ID)
	working := f.line(lines)
	require.Equal(t, "TASK_STATE_WORKING", working.State)
	w.Ask(linktest.Elicitation("r1"))
	require.Equal(t, "TASK_STATE_INPUT_REQUIRED", f.line(lines).State)
	require.Zero(t, f.line(lines), "a question ends the stream")

	again := f.node("resubscribe", given{"id": task.ID}, "Last-Event-ID", fmt.Sprint(working.Sequence))
	require.Equal(t, "TASK_STATE_INPUT_REQUIRED", f.line(again).State)
	rest := f.node("stream", given{"id": "m2", "taskId": task.ID, "text": "yes"})
	require.Equal(t, "task", f.line(rest).Kind)
	require.Equal(t, "TASK_STATE_WORKING", f.line(rest).State)
	f.claim(task.ID).Complete("done")
	answer := f.line(rest)
	require.Equal(t, []string{"done"}, answer.Parts)
	require.True(t, answer.Last)
	require.Equal(t, "TASK_STATE_COMPLETED", f.line(rest).State)
	require.Zero(t, f.line(rest))
	require.Contains(t, f.one("resubscribe", given{"id": "nobody"}).Says, "-32001")
}

func TestTheClientForNodeIsToldAndShowsItsKey(t *testing.T) {
	t.Parallel()
	f := faceForNode(t, true)
	key := []string{"Authorization", "Bearer s3cret"}
	require.Contains(t, f.one("get", given{"id": "x"}).Says, "401")
	hears := make(chan sdk.Task, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var task sdk.Task
		if json.NewDecoder(r.Body).Decode(&task) == nil && r.Header.Get("X-A2A-Notification-Token") == "t-1" {
			hears <- task
		}
	}))
	t.Cleanup(receiver.Close)
	task := f.one("send", given{"id": "m1", "text": "hello"}, key...)
	kept := f.one("setPush", given{"taskId": task.ID, "id": "one", "url": receiver.URL, "token": "t-1"}, key...)
	require.Equal(t, receiver.URL, kept.URL)
	require.Empty(t, kept.Token, "secrets are not shown again")
	require.Equal(t, "one", f.one("getPush", given{"taskId": task.ID, "id": "one"}, key...).ID)
	require.Len(t, f.one("listPush", given{"taskId": task.ID}, key...).Configs, 1)
	f.claim(task.ID).Complete("done")
	for heard := (sdk.Task{}); heard.Status.State != sdk.TaskStateCompleted; {
		select {
		case heard = <-hears:
		case <-time.After(30 * time.Second):
			require.Fail(t, "nobody is told")
		}
	}
	require.True(t, f.one("deletePush", given{"taskId": task.ID, "id": "one"}, key...).Deleted)
}
