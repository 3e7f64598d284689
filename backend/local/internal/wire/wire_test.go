package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		header map[string]string
		want   time.Duration
	}{
		"nothing":              {nil, 0},
		"seconds":              {map[string]string{"Retry-After": "20"}, 20 * time.Second},
		"fraction":             {map[string]string{"Retry-After": "0.5"}, 500 * time.Millisecond},
		"date":                 {map[string]string{"Retry-After": now.Add(time.Minute).Format(http.TimeFormat)}, time.Minute},
		"past":                 {map[string]string{"Retry-After": now.Add(-time.Minute).Format(http.TimeFormat)}, 0},
		"negative":             {map[string]string{"Retry-After": "-3"}, 0},
		"nonsense":             {map[string]string{"Retry-After": "soon"}, 0},
		"no number":            {map[string]string{"Retry-After": "NaN"}, 0},
		"endless":              {map[string]string{"Retry-After": "1e300"}, 24 * time.Hour},
		"ms goes first":        {map[string]string{"Retry-After-Ms": "250", "Retry-After": "9"}, 250 * time.Millisecond},
		"window not exhausted": {map[string]string{"X-Ratelimit-Remaining-Tokens": "7", "X-Ratelimit-Reset-Tokens": "6m0s"}, 0},
		"window":               {map[string]string{"X-Ratelimit-Remaining-Tokens": "0", "X-Ratelimit-Reset-Tokens": "6m0s"}, 6 * time.Minute},
		"window of Anthropic":  {map[string]string{"Anthropic-Ratelimit-Requests-Remaining": "0", "Anthropic-Ratelimit-Requests-Reset": "2026-11-29T12:00:30Z"}, 30 * time.Second},
		"window in milliseconds": {
			map[string]string{"X-Ratelimit-Remaining": "0", "X-Ratelimit-Reset": fmt.Sprint(now.UnixMilli() + 1500)}, 1500 * time.Millisecond,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for key, value := range c.header {
				header.Set(key, value)
			}
			require.InDelta(t, c.want, retryAfter(header, now), float64(time.Millisecond))
		})
	}
}

func TestThinkingIsTakenOut(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                       "",
		"Hello":                                  "Hello",
		"  Hello ":                               "  Hello ",
		"<think>hmm</think>Hello":                "Hello",
		"\n<think>a < b </thin </think>\n\n Yes": "Yes",
		"<think>never ended":                     "",
		"<thin":                                  "<thin",
		"<thing>Hello":                           "<thing>Hello",
		"Say <think>x</think>":                   "Say <think>x</think>",
		"<think></think>":                        "",
	} {
		rapid.Check(t, func(rt *rapid.T) { // however the text is cut
			var filter Thinking
			var got strings.Builder
			for rest := text; rest != ""; {
				n := rapid.IntRange(1, len(rest)).Draw(rt, "n")
				got.WriteString(filter.Feed(rest[:n]))
				rest = rest[n:]
			}
			got.WriteString(filter.End())
			if got.String() != want {
				rt.Fatalf("%q gave %q, want %q", text, got.String(), want)
			}
		})
	}
}

func TestStrictSchema(t *testing.T) {
	t.Parallel()
	for schema, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                                                                                               true,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/x"}]}},"required":["a","b"],"additionalProperties":false,"$defs":{"x":{"enum":[1]}}}`: true,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`:                                                                                                                                false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                                                                                            false,
		`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`:                                                                                                 false,
		`{"type":"object","properties":{"a":{"type":"object"}},"required":["a"],"additionalProperties":false}`:                                                                                                               false,
		`{"type":"object","properties":{"a":{"items":true}},"required":["a"],"additionalProperties":false}`:                                                                                                                  false,
		`{"type":"string"}`: false,
		`true`:              false,
	} {
		require.Equal(t, want, StrictSchema(json.RawMessage(schema)), schema)
	}
}

func TestEveryCallHasAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	ids := NewIDs(func(id string) bool { return !strings.Contains(id, " ") })
	call := func(callID, providerID string) string {
		return ids.Call(execution.ToolCall{CallID: execution.CallID(callID), ProviderID: providerID})
	}
	seen := map[string]bool{}
	for _, id := range []string{
		call("call_0_0", "a"), call("call_0_1", "a"), call("call_0_2", ""), call("call_1_0", "not valid"),
		call("call_1_1", "call_p6"), call("call_2_0", ""), call("call_0_0", "b"),
	} {
		require.NotEmpty(t, id)
		require.False(t, seen[id], id)
		seen[id] = true
	}
	id, ok := ids.Result("call_0_0")
	require.True(t, ok)
	require.Equal(t, "b", id, "call ids repeat in the next execution of a conversation")
	_, ok = ids.Result("call_9_9")
	require.False(t, ok)
}

func TestNamesAndArgumentsThatProvidersTake(t *testing.T) {
	t.Parallel()
	require.Equal(t, "a_b__c", ToolName("a.b  c"))
	require.Equal(t, "unnamed", ToolName(""))
	require.Len(t, ToolName(strings.Repeat("é", 100)), 64)
	for raw, want := range map[string]string{
		``: `{}`, ` {"a":1} `: `{"a":1}`, `[1]`: `{"invalid_arguments":[1]}`, `{"a":`: `{"invalid_arguments":"{\"a\":"}`, `null`: `{"invalid_arguments":null}`,
	} {
		require.JSONEq(t, want, string(Arguments(json.RawMessage(raw))))
	}
}

func TestResolve(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"KEY": "sk-secret", "BROKEN": "sk-secret\n", "EMPTY": " ", "URL": "https://user:sk-secret@h/"}[name]
		return value, ok
	}
	s, err := Resolve(agent.Model{Name: "m", APIKey: "${KEY}"}, lookup)
	require.NoError(t, err)
	require.Equal(t, "sk-secret", s.Key())
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", s, s, s, s), "secret")
	for want, model := range map[string]agent.Model{
		"name: is required": {APIKey: "${KEY}"},
		"apiKey: the environment variable NONE is not set":                                {Name: "m", APIKey: "${NONE}"},
		"apiKey: the environment variable of ${EMPTY} is empty":                           {Name: "m", APIKey: "${EMPTY}"},
		"apiKey: must not hold line breaks or control characters":                         {Name: "m", APIKey: "${BROKEN}"},
		"baseURL: the environment variable NONE is not set":                               {Name: "m", BaseURL: "${NONE}"},
		"baseURL: must not hold a user or password; use headers with a ${NAME} reference": {Name: "m", BaseURL: "${URL}"},
		"baseURL: must not have a ? part":                                                 {Name: "m", BaseURL: "http://h/?a=1"},
	} {
		_, err := Resolve(model, lookup)
		require.EqualError(t, err, want)
	}
}

func TestDetailsInEveryShape(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]detail{
		`{"error":{"message":"m","code":"c","type":"t"}}`: {"m", "c", "t"},
		`{"error":{"message":"m","code":429}}`:            {"m", "429", ""},
		`{"error":"m","type":"t"}`:                        {"m", "", "t"},
		`[{"error":{"message":"m"}}]`:                     {"m", "", ""},
		`{"object":"error","message":"m","code":400}`:     {"m", "400", ""},
		`{"detail":"m"}`:                                  {"m", "", ""},
		`{"detail":[{"msg":"m"}]}`:                        {},
		`{"error":null,"message":"m"}`:                    {"m", "", ""},
		`<html>`:                                          {},
		``:                                                {},
	} {
		require.Equal(t, want, readDetail([]byte(body)), body)
	}
}

// A model chooses the ids of its calls, so it may have chosen those that would be made.
func TestIDs_EveryCallGetsOneWhateverTheModelChose(t *testing.T) {
	t.Parallel()
	ids, seen := NewIDs(func(id string) bool { return len(id) <= 40 }), map[string]bool{}
	for i, chosen := range []string{"call_p3", "call_p3x2", "", "", "call_p3x4", "call_p6x5", ""} {
		done := make(chan string, 1)
		go func() { done <- ids.Call(execution.ToolCall{CallID: execution.NewCallID(0, i), ProviderID: chosen}) }()
		select {
		case id := <-done:
			require.NotEmpty(t, id)
			require.False(t, seen[id], "%s is another call's", id)
			seen[id] = true
		case <-time.After(30 * time.Second):
			require.FailNow(t, "no id is found", "call %d", i)
		}
	}
}
