package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// asProgram in its environment makes the test binary the program itself.
const asProgram = "TEST_AS_PAWL"

// program is the command line carried out by a process of its own.
func program(t *testing.T, url string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = []string{asProgram + "=1", "PAWL_URL=" + url, "HOME=" + t.TempDir(), "TERM=xterm-256color"}
	return cmd
}

// endless is an API whose listing never ends.
func endless(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		view := execution.View{ID: anID, State: execution.Failed, Agent: "旅行", Failure: &execution.Failure{Code: "\x1b[31mred"}}
		_ = json.NewEncoder(w).Encode(execution.ListPage{Executions: []execution.View{view, view}, NextCursor: "more"})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAClosedPipeEndsTheProgramQuietly(t *testing.T) {
	t.Parallel()
	url := endless(t)
	for _, args := range [][]string{{"list", "--all"}, {"list", "--all", "--json"}} {
		cmd := program(t, url, args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		line, err := bufio.NewReader(out).ReadString('\n')
		require.NoError(t, err)
		require.NotContains(t, line, "\x1b", "nothing is colored")
		require.NoError(t, out.Close())
		var ended *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &ended)
		status, ok := ended.Sys().(syscall.WaitStatus)
		require.True(t, ok)
		require.True(t, status.Signaled() && status.Signal() == syscall.SIGPIPE || status.ExitStatus() == exitPipe, ended)
		require.Empty(t, errs.String(), args)
	}
}

// closedPipe is a writer whose reader has gone.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
}

func TestEveryCommandEndsQuietlyAtAClosedPipe(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"list", "show ID", "why ID", "cancel ID", "messages ID", "checkpoints ID", "agents list", "fork --step 1 ID", "watch ID", "events",
		"bulk cancel --agent a --yes", "delete --yes ID", "submit demo x", "version", "blob ID hash", "list --json", "why --json ID",
	} {
		fake := newFake(execution.View{State: execution.Queued})
		fake.messages = []execution.MessagePage{{Messages: make([]execution.HistoryMessage, 1)}}
		fake.bulk = []execution.BulkResult{{Executions: []execution.ID{anID}}}
		fake.agents = []execution.AgentSummary{{ID: "demo"}}
		fake.blob = []byte(`1`)
		fake.send(&execution.ExecutionQueued{})
		var errs strings.Builder
		args := strings.Fields(strings.ReplaceAll(line, "ID", string(anID)))
		require.Equal(t, exitPipe, run(t.Context(), args, streams{out: closedPipe{}, err: &errs}, fake.dial), line)
		require.Empty(t, errs.String(), line)
	}
}

func TestAConnectionThatBreaksIsTold(t *testing.T) {
	t.Parallel()
	broken := &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", syscall.EPIPE)}
	require.False(t, readerHasGone(fmt.Errorf("open Redis: %w", broken)))
	_, err := closedPipe{}.Write(nil)
	require.True(t, readerHasGone(fmt.Errorf("print: %w", err)))
}

func TestAPipeGetsTextAloneWhateverTheTerminalCould(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		view := execution.View{ID: anID, State: execution.Completed, Outcome: &execution.Outcome{Answer: "\x1b[31mred\a"}}
		_ = json.NewEncoder(w).Encode(execution.ListPage{Executions: []execution.View{view}})
	}))
	t.Cleanup(server.Close)
	for _, color := range []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"} {
		cmd := program(t, server.URL, "list")
		cmd.Env = append(cmd.Env, color)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.Contains(t, string(out), "[31mred")
		require.NotContains(t, string(out), "\x1b")
		require.NotContains(t, string(out), "\a")
	}
	server.Close()
	cmd := program(t, server.URL, "list")
	out, err := cmd.Output()
	require.Empty(t, string(out))
	var ended *exec.ExitError
	require.True(t, errors.As(err, &ended))
	require.Equal(t, exitNoAnswer, ended.ExitCode())
	require.Contains(t, string(ended.Stderr), "no API answers at "+server.URL)
}
