package mcptool_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/execution"
)

func TestAServerGivesItsTools(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared.OnUnknown, declared.MaxRetries = agent.UnknownFail, 3
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			tools, err := set.Tools(t.Context())
			require.NoError(t, err)
			names := map[string]agent.Recovery{}
			for _, tool := range tools {
				spec := tool.Spec()
				names[spec.Name] = spec.Recovery
				require.JSONEq(t, `{"type":"object"}`, string(spec.Parameters))
				require.Equal(t, soon, spec.Timeout)
				require.Equal(t, agent.UnknownFail, spec.OnUnknown)
				require.Equal(t, 3, spec.MaxRetries)
			}
			require.Equal(t, agent.Unsafe, names["s_echo"], "hints are not trusted")
			require.Contains(t, names, "s_odd_name_9fead53b", "changed names end with a hash")
			require.Equal(t, "Does echo.", set.Find("s_echo").Spec().Description)
			require.Nil(t, set.Find("s_missing"))
			require.Nil(t, set.Find("echo"))
			require.Nil(t, set.Find("s"))
		})
	}
}

func TestResultsKeepTheirTypes(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			require.JSONEq(t, `"{\"a\":1}"`, succeed(t, set, "s_echo", `{"a":1}`))
			require.Equal(t, `""`, succeed(t, set, "s_nothing", `{}`))
			require.Equal(t, `{"id":12345678901234567}`, succeed(t, set, "s_structured", `{}`))
			require.JSONEq(t, `{"content":[{"type":"text","text":"seven"}],"structuredContent":{"id":7}}`, succeed(t, set, "s_both", `{}`))
			require.JSONEq(t, `{"content":[
				{"type":"text","text":"a picture"},
				{"type":"image","mimeType":"image/png","data":"cG5n"},
				{"type":"resource","resource":{"uri":"file:///a.txt","mimeType":"text/plain","text":"hello"}},
				{"type":"resource_link","uri":"file:///b.txt","name":"b"}]}`, succeed(t, set, "s_rich", `{}`))
		})
	}
}

func TestTheServersNoIsAnErrorResult(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			for name, want := range map[string]string{
				"s_fail": "no such city", "s_protocol": "went wrong inside",
			} {
				result, err := call(t, t.Context(), set, name, `{}`)
				require.NoError(t, err, name)
				require.True(t, result.IsError, name)
				require.Equal(t, execution.ToolExecution, result.ErrorKind)
				require.Contains(t, string(result.Content), want)
			}
		})
	}
}

func TestCaseB7_TheEffectIDReachesTheServer(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			require.Equal(t, `"exec_0001ARZ3NDEKTSV4RRFFQ69G5FAV:call_0_0"`, succeed(t, set, "s_meta", `{}`))
		})
	}
}

func TestHugeResults(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, mcptool.Config{MaxResult: 2 << 20}), declared)
			require.Len(t, succeed(t, set, "s_huge", `{"bytes":2097150}`), 2<<20)
			result, err := call(t, t.Context(), set, "s_huge", `{"bytes":3000000}`)
			require.NoError(t, err)
			require.True(t, result.IsError)
			require.Equal(t, execution.ToolTooLarge, result.ErrorKind)
			require.Contains(t, string(result.Content), "answered with 3000002 bytes, and the most that is read is 2097152")
			require.Equal(t, `"{}"`, succeed(t, set, "s_echo", ""), "the session goes on")
		})
	}
}

type frames struct {
	mu   sync.Mutex
	text strings.Builder
	call execution.CallID
}

func (f *frames) Frame(frame execution.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if frame.Type == execution.FrameToolProgress {
		f.call = frame.CallID
		f.text.WriteString(frame.Text)
	}
}

func (f *frames) seen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.text.String()
}

func TestProgressIsFrames(t *testing.T) {
	t.Parallel()
	for name, declared := range transports(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			sink := &frames{}
			answer, err := set.Find("s_progress").Call(t.Context(), invocation(`{}`), sink)
			require.NoError(t, err)
			require.Equal(t, `"done"`, string(answer.Result.Content))
			require.Equal(t, "1/3 reading\n2/3 reading\n3/3 reading\n", sink.seen())
			require.Equal(t, execution.CallID("call_0_0"), sink.call)
		})
	}
}

func TestTwentyCallsShareOneSession(t *testing.T) {
	t.Parallel()
	log := t.TempDir() + "/starts"
	servers := newServers(t, mcptool.Config{})
	declared := stdio("plain", map[string]string{"START_LOG": log})
	var calls sync.WaitGroup
	for range 20 {
		set := newSet(t, servers, declared) // of another definition, reached in the same way
		calls.Go(func() {
			result, err := set.Find("s_echo").Call(t.Context(), invocation(`{"n":1}`), nil)
			if err != nil || string(result.Result.Content) != `"{\"n\":1}"` {
				t.Errorf("call: %v %v", result, err)
			}
		})
	}
	calls.Wait()
	require.Len(t, lines(t, log), 1)
}

func TestRecoveryClasses(t *testing.T) {
	t.Parallel()
	url := newFake("plain").http(t, nil)
	for name, c := range map[string]struct {
		change           func(*agent.Tool)
		echo, fail, meta agent.Recovery
	}{
		"default":       {func(*agent.Tool) {}, agent.Unsafe, agent.Unsafe, agent.Unsafe},
		"for all":       {func(d *agent.Tool) { d.Recovery = agent.Idempotent }, agent.Idempotent, agent.Idempotent, agent.Idempotent},
		"trusted hints": {func(d *agent.Tool) { d.TrustHints = true }, agent.ReadOnly, agent.Idempotent, agent.Unsafe},
		"by name, then hints": {func(d *agent.Tool) {
			d.TrustHints, d.Recoveries = true, map[string]agent.Recovery{"echo": agent.Unsafe}
		}, agent.Unsafe, agent.Idempotent, agent.Unsafe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared := overHTTP(url)
			c.change(&declared)
			set := newSet(t, newServers(t, mcptool.Config{}), declared)
			before := set.Find("s_echo").Spec().Recovery // nothing is known of the server
			require.Contains(t, []agent.Recovery{agent.Unsafe, c.echo}, before)
			_, err := set.Tools(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.echo, set.Find("s_echo").Spec().Recovery)
			require.Equal(t, c.fail, set.Find("s_fail").Spec().Recovery)
			require.Equal(t, c.meta, set.Find("s_meta").Spec().Recovery)
		})
	}
}

func TestAllow(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	declared.Allow = []string{"odd.name", "echo"}
	servers := newServers(t, mcptool.Config{})
	set := newSet(t, servers, declared)
	tools, err := set.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 2)
	require.Nil(t, set.Find("s_meta"))

	declared.Allow = []string{"ecko", "echo"}
	set = newSet(t, servers, declared)
	_, err = set.Tools(t.Context())
	failed(t, err, "permanent", "mcp_unknown_tool")
	require.ErrorContains(t, err, "the MCP server of s has no tool ecko; it has ask, block, both, die, echo,")

	set = newSet(t, newServers(t, mcptool.Config{}), declared) // first used by a call
	result, err := call(t, t.Context(), set, "s_echo", `{}`)
	require.NoError(t, err)
	require.True(t, result.IsError)
	require.Contains(t, string(result.Content), "ecko")
}

func TestAToolThatIsFoundOutAtItsCall(t *testing.T) {
	t.Parallel()
	declared := overHTTP(newFake("plain").http(t, nil))
	set := newSet(t, newServers(t, mcptool.Config{}), declared)
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))

	set = newSet(t, newServers(t, mcptool.Config{}), declared)
	result, err := call(t, t.Context(), set, "s_missing", `{}`)
	require.NoError(t, err)
	require.Equal(t, execution.ToolNotFound, result.ErrorKind)
	require.Nil(t, set.Find("s_missing"), "now it is known that there is none")
}
