package mcptool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/execution"
)

// form is what the fake asks for.
var form = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","minLength":2}},"required":["name"]}`)

// addQuestions adds tools that ask: ask in the middle of its call, need with a result that needs input.
func (f *fake) addQuestions() {
	f.add("ask", nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		var a struct {
			Questions int
			Log, Who  string
			Enter     bool
		}
		_ = json.Unmarshal(req.Params.Arguments, &a)
		said := []string{fmt.Sprint(req.Params.Meta[mcptool.EffectIDKey])[len(executionID):]}
		if a.Log != "" {
			appendLine(a.Log, "begun")
		}
		if a.Enter {
			f.entered <- struct{}{}
			<-f.release
		}
		for i := range a.Questions {
			answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: fmt.Sprintf("%squestion %d", a.Who, i), RequestedSchema: form})
			if err != nil {
				return nil, err
			}
			said = append(said, answer.Action)
			if answer.Action != "accept" {
				break
			}
			said = append(said, fmt.Sprint(answer.Content["name"]))
		}
		return text(strings.Join(said, " ")), nil
	})
	f.add("need", nil, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round := len(strings.Fields(req.Params.RequestState))
		if round == 2 {
			return text(req.Params.RequestState + " " + said(req.Params.InputResponses)), nil
		}
		return &mcp.CallToolResult{
			RequestState: strings.TrimSpace(req.Params.RequestState + " " + said(req.Params.InputResponses)),
			InputRequests: mcp.InputRequestMap{
				"b": &mcp.ElicitParams{Message: fmt.Sprintf("b%d", round), RequestedSchema: form},
				"a": &mcp.ElicitParams{Message: fmt.Sprintf("a%d", round)},
			},
		}, nil
	})
	f.add("shed", nil, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{}}, nil
	})
	f.add("sample", nil, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{MaxTokens: 1}) //nolint:staticcheck // deprecated, and still asked for
		if err == nil {
			return text("sampled"), nil
		}
		roots, rootsErr := req.Session.ListRoots(ctx, nil) //nolint:staticcheck // deprecated, and still asked for
		if rootsErr == nil && len(roots.Roots) > 0 {
			return text("roots"), nil
		}
		_, urlErr := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "open", URL: "http://127.0.0.1/", ElicitationID: "1"})
		return text(fmt.Sprintf("%v; %v; %v", err, rootsErr, urlErr)), nil
	})
}

func said(responses mcp.InputResponseMap) string {
	if len(responses) == 0 {
		return "begin"
	}
	text, err := json.Marshal(responses)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// legacies are the ways to reach a server that asks in the middle of its calls.
func legacies(t *testing.T) map[string]agent.Tool {
	t.Helper()
	return map[string]agent.Tool{"stdio": stdio("legacy", nil), "http": overHTTP(newFake("legacy").http(t, nil))}
}

// replied calls a tool with a person's answer to its last question.
func replied(t *testing.T, set *mcptool.Set, name, arguments string, reply *local.Reply) local.Answer {
	t.Helper()
	call := invocation(arguments)
	call.Reply = reply
	answer, err := set.Find(name).Call(t.Context(), call, nil)
	require.NoError(t, err)
	return answer
}

// question is the answer's question, which must be one for a person.
func question(t *testing.T, answer local.Answer, prompt string) *local.Question {
	t.Helper()
	require.Nil(t, answer.Result, answer)
	require.NotNil(t, answer.Question)
	require.Equal(t, execution.Elicitation, answer.Question.Kind)
	require.Equal(t, prompt, answer.Question.Prompt)
	require.True(t, answer.Question.Resume)
	require.NotEmpty(t, answer.Question.State)
	return answer.Question
}

func TestAServersQuestionIsAPersons(t *testing.T) {
	t.Parallel()
	for name, declared := range legacies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			declared.ExpiresAfter, declared.OnExpiry = time.Hour, execution.ExpireSuspend
			log := t.TempDir() + "/log"
			arguments := `{"questions":2,"log":"` + log + `"}`
			servers := newServers(t, quick())
			set := newSet(t, servers, declared)
			asked := question(t, replied(t, set, "s_ask", arguments, nil), "question 0")
			require.JSONEq(t, string(form), string(asked.Schema))
			require.Equal(t, time.Hour, asked.ExpiresAfter)
			require.Equal(t, execution.ExpireSuspend, asked.OnExpiry)
			require.Less(t, len(asked.State), 200)

			other := newSet(t, newServers(t, quick()), declared) // of another worker
			asked = question(t, replied(t, other, "s_ask", arguments,
				&local.Reply{State: asked.State, Content: json.RawMessage(`{"name":"Ada"}`)}), "question 1")
			answer := replied(t, set, "s_ask", arguments, &local.Reply{State: asked.State, Text: "Bob"})
			require.NotNil(t, answer.Result)
			require.Equal(t, `":call_0_0#2 accept Ada accept Bob"`, string(answer.Result.Content))
			require.Len(t, lines(t, log), 3, "the call is sent again for every answer")

			answer = replied(t, set, "s_ask", arguments, &local.Reply{State: asked.State, Declined: true})
			require.Equal(t, `":call_0_0#2 accept Ada decline"`, string(answer.Result.Content))
		})
	}
}

func TestAnAnswerThatDoesNotFitIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]agent.Tool{
		"s_ask": overHTTP(newFake("legacy").http(t, nil)), "s_need": overHTTP(newFake("stateless").http(t, nil)),
	} {
		set := newSet(t, newServers(t, quick()), declared)
		answer := replied(t, set, name, `{"questions":1}`, nil)
		if name == "s_need" {
			answer = replied(t, set, name, `{}`, &local.Reply{State: question(t, answer, "a0").State})
		}
		first := answer.Question.Prompt
		for _, reply := range []local.Reply{
			{Content: json.RawMessage(`{"name":7}`)}, {Content: json.RawMessage(`{}`)}, {Content: json.RawMessage(`[]`)}, {Text: "x"}, {Text: "{}"},
		} {
			reply.State = answer.Question.State
			answer = replied(t, set, name, `{"questions":1}`, &reply)
			require.NotNil(t, answer.Question, reply)
			require.Regexp(t, "^The answer does not fit: .+\n"+first+"$", answer.Question.Prompt)
			require.NotContains(t, answer.Question.Prompt, "pawl:schema")
		}
		answer = replied(t, set, name, `{"questions":1}`, &local.Reply{State: answer.Question.State, Text: `{"name":"Ada"}`})
		if name == "s_ask" {
			require.Contains(t, string(answer.Result.Content), "accept Ada")
		} else {
			question(t, answer, "a1")
		}
	}
}

func TestAResultThatNeedsInputIsAsked(t *testing.T) {
	t.Parallel()
	for name, declared := range map[string]agent.Tool{
		"stdio": stdio("plain", nil), "http": overHTTP(newFake("stateless").http(t, nil)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, quick()), declared)
			asked := question(t, replied(t, set, "s_need", `{}`, nil), "a0")
			require.Nil(t, asked.Schema)
			asked = question(t, replied(t, set, "s_need", `{}`, &local.Reply{State: asked.State, Text: "yes"}), "b0")
			require.JSONEq(t, string(form), string(asked.Schema))
			asked = question(t, replied(t, set, "s_need", `{}`, &local.Reply{State: asked.State, Declined: true}), "a1")
			asked = question(t, replied(t, set, "s_need", `{}`, &local.Reply{State: asked.State}), "b1")
			answer := replied(t, set, "s_need", `{}`, &local.Reply{State: asked.State, Text: "Ada"})
			require.NotNil(t, answer.Result)
			var got string
			require.NoError(t, json.Unmarshal(answer.Result.Content, &got))
			require.Equal(t, `begin {"a":{"action":"accept"},"b":{"action":"decline"}} {"a":{"action":"accept"},"b":{"action":"accept","content":{"name":"Ada"}}}`, got)

			_, err := set.Find("s_shed").Call(t.Context(), invocation(`{}`), nil)
			failed(t, err, local.Transient, "tool_unavailable")
		})
	}
}

func TestOtherRequestsOfAServerAreRefused(t *testing.T) {
	t.Parallel()
	for name, declared := range legacies(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, newServers(t, quick()), declared)
			got := succeed(t, set, "s_sample", `{}`)
			require.Contains(t, got, "sampl")
			require.Contains(t, got, "url")
			require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`), "the session goes on")
		})
	}
}

// hasty does not wait long for the first call of a tool.
func hasty() mcptool.Config {
	cfg := quick()
	cfg.ListTimeout = 2 * time.Second
	return cfg
}

func TestFirstCallsThatComeAtOnceAreToldApart(t *testing.T) {
	t.Parallel()
	set := newSet(t, newServers(t, quick()), overHTTP(newFake("legacy").http(t, nil)))
	var calls sync.WaitGroup
	for i := range 4 {
		calls.Go(func() {
			answer, err := set.Find("s_ask").Call(t.Context(), invocation(fmt.Sprintf(`{"questions":1,"who":"%d "}`, i)), nil)
			assert.NoError(t, err)
			if assert.NotNil(t, answer.Question) {
				assert.Equal(t, fmt.Sprintf("%d question 0", i), answer.Question.Prompt)
			}
		})
	}
	calls.Wait()
}

func TestAQuestionBesideOtherCallsIsHeldUntilItIsKnownWhose(t *testing.T) {
	t.Parallel()
	f := newFake("legacy")
	set := newSet(t, newServers(t, hasty()), overHTTP(f.http(t, nil)))
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
	ctx, cancel := context.WithCancel(t.Context())
	beside := make(chan error, 1)
	go func() {
		_, err := set.Find("s_block").Call(ctx, invocation(`{}`), nil)
		beside <- err
	}()
	await(t, f.entered)
	asked := make(chan local.Answer, 1)
	go func() {
		answer, err := set.Find("s_ask").Call(t.Context(), invocation(`{"questions":1}`), nil)
		assert.NoError(t, err)
		asked <- answer
	}()
	require.Eventually(t, func() bool { return f.count("ask") == 1 }, soon, 5*time.Millisecond)
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`), "other calls go on")
	select {
	case answer := <-asked:
		require.Fail(t, "it is not known yet who asked", answer)
	default:
	}
	cancel()
	failed(t, <-beside, local.Unknown, "canceled")
	first := question(t, <-asked, "question 0")
	answer := replied(t, set, "s_ask", `{"questions":1}`, &local.Reply{State: first.State, Text: "Ada"})
	require.Equal(t, `":call_0_0#1 accept Ada"`, string(answer.Result.Content))
}

func TestCallsThatAskAtOnce(t *testing.T) {
	t.Parallel()
	for _, recovery := range []agent.Recovery{agent.ReadOnly, agent.Unsafe} {
		t.Run(string(recovery), func(t *testing.T) {
			t.Parallel()
			f := newFake("legacy")
			declared := overHTTP(f.http(t, nil))
			declared.Recovery = recovery
			set := newSet(t, newServers(t, hasty()), declared)
			require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
			both := func(enter bool, seen func(i int, answer local.Answer, err error)) {
				var calls sync.WaitGroup
				for i := range 2 {
					calls.Go(func() {
						answer, err := set.Find("s_ask").Call(t.Context(), invocation(fmt.Sprintf(`{"questions":1,"who":"%d ","enter":%t}`, i, enter)), nil)
						seen(i, answer, err)
					})
				}
				if enter { // both are on their way before either asks
					await(t, f.entered)
					await(t, f.entered)
					f.release <- struct{}{}
					f.release <- struct{}{}
				}
				calls.Wait()
			}
			both(true, func(_ int, _ local.Answer, err error) {
				var classified *local.Error
				if assert.ErrorAs(t, err, &classified) {
					assert.Equal(t, "mcp_question_unclear", classified.Code)
					assert.Equal(t, afterSend(recovery), classified.Kind)
				}
			})
			both(false, func(i int, answer local.Answer, err error) { // now each has a session of its own
				assert.NoError(t, err)
				if assert.NotNil(t, answer.Question) {
					assert.Equal(t, fmt.Sprintf("%d question 0", i), answer.Question.Prompt)
				}
			})
		})
	}
}

func TestAnswersThatComeToAnotherWorkerAtOnce(t *testing.T) {
	t.Parallel()
	declared := stdio("legacy", nil)
	first := question(t, replied(t, newSet(t, newServers(t, quick()), declared), "s_ask", `{"questions":1}`, nil), "question 0")
	set := newSet(t, newServers(t, quick()), declared) // it has never seen the tool ask
	var calls sync.WaitGroup
	for range 4 {
		calls.Go(func() {
			call := invocation(`{"questions":1}`)
			call.Reply = &local.Reply{State: first.State, Text: "Ada"}
			answer, err := set.Find("s_ask").Call(t.Context(), call, nil)
			assert.NoError(t, err)
			assert.NotNil(t, answer.Result)
		})
	}
	calls.Wait()
}

func TestManyCallsOfAToolThatAsks(t *testing.T) {
	t.Parallel()
	log := t.TempDir() + "/starts"
	set := newSet(t, newServers(t, quick()), stdio("legacy", map[string]string{"START_LOG": log}))
	question(t, replied(t, set, "s_ask", `{"questions":1}`, nil), "question 0")
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			answer, err := set.Find("s_ask").Call(t.Context(), invocation(`{"questions":1}`), nil)
			assert.NoError(t, err)
			assert.NotNil(t, answer.Question)
		})
	}
	calls.Wait()
	require.LessOrEqual(t, len(lines(t, log)), 1+20)
	require.Equal(t, `"{}"`, succeed(t, set, "s_echo", `{}`))
}

func TestQuestionsAreBounded(t *testing.T) {
	t.Parallel()
	set := newSet(t, newServers(t, quick()), overHTTP(newFake("legacy").http(t, nil)))
	answer := replied(t, set, "s_ask", `{"questions":30}`, nil)
	for i := 0; answer.Question != nil; i++ {
		require.Less(t, i, 20)
		answer = replied(t, set, "s_ask", `{"questions":30}`, &local.Reply{State: answer.Question.State, Text: "Ada"})
	}
	require.True(t, answer.Result.IsError)
	require.Contains(t, string(answer.Result.Content), "more than 20 questions")

	call := invocation(`{}`)
	for _, state := range []string{"", "null, ", `{"v":2}`} {
		call.Reply = &local.Reply{State: json.RawMessage(state)}
		_, err := set.Find("s_ask").Call(t.Context(), call, nil)
		failed(t, err, local.Permanent, "mcp_question_state")
	}
	first := question(t, replied(t, set, "s_ask", `{"questions":2}`, nil), "question 0")
	answer = replied(t, set, "s_ask", `{"questions":2}`, &local.Reply{State: first.State, Text: strings.Repeat("a", 200<<10)})
	require.True(t, answer.Result.IsError)
	require.Contains(t, string(answer.Result.Content), "which is more than")
}
