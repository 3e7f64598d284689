package api

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/internal/config"
)

// shell runs commands of the documentation against an API behind a proxy, which holds every exchange against the document and
// notes what was called.
type shell struct {
	t      *testing.T
	url    string
	client *client.Client

	mu     sync.Mutex
	called []string // id and status, by the order of their answers
}

func newShell(t *testing.T) *shell {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Fatal("the test runs the commands of the reference and needs curl: make setup")
	}
	i := install(t, strings.ReplaceAll(agentsFile, "$TOOLS", tools(t)), config.AuthNone)
	target, err := url.Parse(i.url)
	require.NoError(t, err)
	s := &shell{t: t}
	checker := openapitest.Shared(t)
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = target.Host
	}}
	checked := checker.Handler(t, proxy)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		call := checker.Find(r)
		require.NotNil(t, call, "%s %s", r.Method, r.URL)
		checked.ServeHTTP(&noting{ResponseWriter: w, note: func(status int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.called = append(s.called, call.ID+" "+http.StatusText(status))
		}}, r)
	}))
	t.Cleanup(front.Close)
	s.url = front.URL
	s.client, err = client.New(i.url, client.Config{})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)
	return s
}

// noting tells with which status a request is answered, as soon as that is known.
type noting struct {
	http.ResponseWriter
	note func(status int)
}

func (w *noting) WriteHeader(status int) {
	w.note(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *noting) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// run runs a command and gives what it printed and what it called.
func (s *shell) run(command string, env ...string) (printed string, called []string) {
	s.t.Helper()
	s.mu.Lock()
	s.called = nil
	s.mu.Unlock()
	printed = s.start(command, env...)()
	s.mu.Lock()
	defer s.mu.Unlock()
	return printed, slices.Clone(s.called)
}

// start starts a command; the answer waits for its end.
func (s *shell) start(command string, env ...string) (wait func() string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	var out, failed strings.Builder
	shell := exec.CommandContext(ctx, "bash", "-euc", command)
	shell.Env = append(os.Environ(), append(env, "PAWL_URL="+s.url, "PAWL_API_KEY=none")...)
	shell.Stdout, shell.Stderr = &out, &failed
	require.NoError(s.t, shell.Start())
	return func() string {
		defer cancel()
		err := shell.Wait()
		var ended *exec.ExitError
		if errors.As(err, &ended) && ended.ExitCode() == 28 && strings.Contains(command, "--max-time") {
			err = nil // it was told when to stop
		}
		require.NoError(s.t, err, "%s\n%s%s", command, out.String(), failed.String())
		return out.String()
	}
}

func (s *shell) submit(agent string, states ...execution.State) execution.View {
	s.t.Helper()
	created, err := s.client.Create(s.t.Context(), "", execution.CreateRequest{
		Agent: agent, Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"},
	})
	require.NoError(s.t, err)
	view := created.View
	for deadline := time.Now().Add(patience); !slices.Contains(states, view.State); {
		require.True(s.t, time.Now().Before(deadline), "%s is %s", agent, view.State)
		view, err = s.client.Wait(s.t.Context(), view.ID, view.Version, 5*time.Second)
		require.NoError(s.t, err)
	}
	return view
}

// environment is an execution that a command can do something with, as it says it needs one.
func (s *shell) environment(needs string) []string {
	s.t.Helper()
	switch needs {
	case "ended":
		return []string{"ID=" + string(s.submit("quick", execution.Completed).ID)}
	case "blob":
		view := s.submit("large", execution.Completed)
		events, err := s.client.Events(s.t.Context(), view.ID, 0, 100)
		require.NoError(s.t, err)
		for _, event := range events.Events {
			if completed, is := event.Payload.(*execution.ToolCompleted); is && completed.Blob != nil {
				return []string{"ID=" + string(view.ID), "HASH=" + completed.Blob.Hash}
			}
		}
		s.t.Fatal("the large result is nowhere")
		return nil
	default:
		view := s.submit("demo", execution.WaitingForInput)
		if needs == "paused" {
			_, err := s.client.Pause(s.t.Context(), view.ID)
			require.NoError(s.t, err)
		}
		return []string{"ID=" + string(view.ID), "REQUEST_ID=" + string(view.Interaction.RequestID)}
	}
}

// Every call of the reference has a command that a reader can run: it is run, makes that call, and is answered with success.
func TestEveryCommandOfTheReferenceRuns(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, call := range sortedCalls(openapitest.Shared(t).Calls()) {
		samples, _ := call.Operation["x-codeSamples"].([]any)
		require.NotEmpty(t, samples, call.ID)
		for _, sample := range samples {
			sample := sample.(map[string]any)
			needs, _ := sample["x-needs"].(string)
			source := sample["source"].(string)
			printed, called := s.run(source, s.environment(needs)...)
			require.Len(t, called, 1, source)
			id, status, _ := strings.Cut(called[0], " ")
			require.Equal(t, call.ID, id, source)
			require.Contains(t, []string{"OK", "Created", "Accepted", "No Content"}, status, "%s\n%s", source, printed)
			if call.ID != "deleteExecution" {
				require.NotEmpty(t, printed, source)
			}
		}
	}
}

var (
	shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	curlLine   = regexp.MustCompile(`(?m)^ *curl (?:.*\\\n)*.*$`)
)

// commands are those of a page that speak to the API.
func commands(t *testing.T, page string) []string {
	t.Helper()
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	var found []string
	for _, block := range shellBlock.FindAllStringSubmatch(string(text), -1) {
		found = append(found, curlLine.FindAllString(block[1], -1)...)
	}
	return found
}

// The commands of the README, in their order: the second one runs while the third one answers.
func TestTheCommandsOfTheReadmeRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var found []string
	for _, command := range commands(t, "../../README.md") {
		found = append(found, strings.Replace(command, "localhost:8080", "$PAWL_URL", 1))
	}
	require.Len(t, found, 3)
	printed, called := s.run(found[0])
	require.Equal(t, []string{"createExecution Accepted"}, called)
	var view execution.View
	decode(t, []byte(printed), &view)
	id := "ID=" + string(view.ID)
	stream := s.start(found[1], id)
	for view.State != execution.WaitingForInput {
		var err error
		view, err = s.client.Wait(t.Context(), view.ID, view.Version, 5*time.Second)
		require.NoError(t, err)
	}
	s.start(found[2], id, "REQUEST="+string(view.Interaction.RequestID))()
	text := stream()
	require.Contains(t, text, "event: interaction_required")
	require.Contains(t, text, "event: execution_completed")
}

func TestTheCommandsOfTheDescriptionOfTheAPIRun(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	for _, command := range commands(t, "../../docs/api.md") {
		_, called := s.run(command, s.environment("question")...)
		require.NotEmpty(t, called, command)
		for _, call := range called {
			require.Regexp(t, ` (OK|Created|Accepted|No Content)$`, call, command)
		}
	}
}
