//go:build faultpoint

package fault

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const (
	largeCalls  = 50
	largeResult = 1 << 20
	mostMemory  = 300 << 20
)

// lastRow is what the end of each large result says, so that no two are the same.
const lastRow = "row of call %d"

// largeTools is a tool server whose tool answers each call with 1 MiB of text; seen is told of every call that arrives.
func largeTools(t *testing.T, seen func()) *harness.ToolServer {
	t.Helper()
	tools, body := harness.Tools(t), strings.Repeat("sunny\n", largeResult/6)
	var mu sync.Mutex
	count := 0
	tools.Behave("/lookup", func(context.Context, harness.ToolCall) (int, string) {
		mu.Lock()
		defer mu.Unlock()
		count++
		seen()
		return 200, body + fmt.Sprintf(lastRow, count)
	})
	return tools
}

// largeAgent asks for the tool so many times, one after the other or all at once.
func largeAgent(over string, atOnce bool) string {
	turns, call := "", "{name: lookup, arguments: {city: Oslo}}"
	if atOnce {
		turns = "        - toolCalls: [" + strings.Repeat(call+", ", largeCalls-1) + call + "]\n"
	} else {
		turns = strings.Repeat("        - toolCalls: ["+call+"]\n", largeCalls)
	}
	return "agents:\n  large:\n    results: {over: " + over + "}\n    model:\n      provider: scripted\n      turns:\n" + turns +
		"        - {text: \"Done.\"}\n    tools:\n" +
		"      - {name: lookup, type: http, url: \"$TOOLS/lookup\", recovery: idempotent}\n"
}

// tidy is the environment of a process whose memory is measured. What nobody needs any more is collected before it comes to the
// bound, however late the collector got a processor: what is beyond the bound is held.
func tidy() map[string]string { return map[string]string{"GOMEMLIMIT": "200MiB"} }

// peak is the most memory that a process had, in bytes.
func peak(t *testing.T, p *harness.Process) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Skip("the memory of a process is read from /proc")
	}
	match := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, match)
	kilobytes, err := strconv.Atoi(string(match[1]))
	require.NoError(t, err)
	return kilobytes << 10
}

func TestCaseG3_FiftyResultsOfOneMebibyteAreStored(t *testing.T) {
	t.Parallel()
	var (
		mu    sync.Mutex
		stack *harness.Stack
		sent  []int64
	)
	tools := largeTools(t, func() {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, stack.Received())
	})
	mu.Lock()
	stack = harness.New(t, harness.Config{Agents: agentsFor(tools, largeAgent("store", false))})
	mu.Unlock()
	api, worker := stack.API(), stack.Worker(tidy())
	view := api.Submit("large", "Oslo, please")
	api.AwaitState(view.ID, 3*endTimeout, execution.Completed)
	require.Len(t, sent, largeCalls)
	first, last := sent[2]-sent[1], sent[largeCalls-1]-sent[largeCalls-2] // with the very first call scripts are loaded
	memory := peak(t, worker)
	t.Logf("worker: %d MiB at most; sent to Redis: %d bytes for call 2, %d for call %d (%.3f)", memory>>20, first, last,
		largeCalls, float64(last)/float64(first))
	require.Less(t, memory, mostMemory)
	require.LessOrEqual(t, float64(last), 1.1*float64(first), "a step costs more with every large result before it")
	checkLargeEvents(t, api, view.ID)
}

func TestCaseG3_FiftyResultsOfOneMebibyteAtOnceAreStored(t *testing.T) {
	t.Parallel()
	tools := largeTools(t, func() {})
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, largeAgent("store", true))})
	api, worker := stack.API(), stack.Worker(tidy())
	view := api.Submit("large", "Oslo, please")
	api.AwaitState(view.ID, 3*endTimeout, execution.Completed)
	memory := peak(t, worker)
	t.Logf("worker: %d MiB at most", memory>>20)
	require.Less(t, memory, mostMemory)
	checkLargeEvents(t, api, view.ID)
}

// checkLargeEvents is case F9: no event holds a result; each names one, which is there whole, each another one.
func checkLargeEvents(t *testing.T, api *harness.API, id execution.ID) {
	t.Helper()
	events := api.Events(id)
	harness.CheckLog(t, id, events)
	found := map[string]bool{}
	for _, event := range events {
		data, err := json.Marshal(event)
		require.NoError(t, err)
		require.Less(t, len(data), 1024)
		completed, ok := event.Payload.(*execution.ToolCompleted)
		if !ok {
			continue
		}
		require.NotNil(t, completed.Blob)
		answer, err := api.Do(t.Context(), http.MethodGet, "/v1/executions/"+string(id)+"/blobs/"+completed.Blob.Hash, nil, nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		require.EqualValues(t, completed.Blob.Size, len(answer.Body))
		var text string
		require.NoError(t, json.Unmarshal(answer.Body, &text))
		require.Greater(t, len(text), largeResult-8)
		found[text[strings.LastIndex(text, "\n"):]] = true
	}
	require.Len(t, found, largeCalls)
}

func TestCaseG3_AResultOfOneMebibyteIsRefused(t *testing.T) {
	t.Parallel()
	tools := largeTools(t, func() {})
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, largeAgent("refuse", false))})
	api := stack.API()
	stack.Worker()
	view := api.Submit("large", "Oslo, please")
	view = api.AwaitState(view.ID, endTimeout, execution.Failed)
	require.Equal(t, execution.CodeResultTooLarge, view.Failure.Code)
	require.Regexp(t, `^the result of the tool lookup has 1\d{6} bytes, and results\.limit is 262144$`, view.Failure.Message)
	require.Len(t, tools.Calls("/lookup"), 1)
	harness.CheckLog(t, view.ID, api.Events(view.ID))
	for _, key := range stack.Keys("pawl:*") {
		require.NotContains(t, key, ":results")
	}
}
