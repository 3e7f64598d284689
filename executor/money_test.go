package executor

import (
	"context"
	"encoding/json"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// priced is a model that costs one millionth for a token of input and two for one of output.
func priced(name string) agent.Model {
	return agent.Model{
		Provider: agent.ProviderOpenAI, Name: name, APIKey: "${" + name + "}",
		Prices: &agent.Prices{InputPer1M: 1_000_000, OutputPer1M: 2_000_000},
	}
}

func used(input, output int64) *execution.Usage {
	return &execution.Usage{InputTokens: input, OutputTokens: output}
}

// Case C2: the budget is charged for failed attempts and for the requests of workers that died, and it ends the run.
func TestCaseC2_TheBudgetIsChargedAcrossAttemptsAndReclaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		kit := &local.Kit{Model: fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			sent.Add(1)
			return local.ModelResponse{Usage: used(10, 1)}, &local.Error{Kind: local.Transient, Code: "overloaded"}
		})}
		w := newWorld(t, &agent.Definition{Model: priced("m"), Limits: execution.Limits{MaxModelRequests: 3}}, kit, nil)
		w.to(BeforeModelRequest)
		require.NoError(t, w.next(), "an attempt that fails")
		for reclaims := range 2 { // workers that die with a request in flight
			for w.row().NotBeforeMs > time.Now().UnixMilli() {
				w.pass()
			}
			_, err := w.store.Claim(t.Context(), journal.ClaimRequest{
				Execution: w.id, Worker: "mortal", Nonce: "n" + string(rune('0'+reclaims)), TTL: time.Second,
			})
			require.NoError(t, err)
			<-time.After(2 * time.Second)
		}
		row := w.drive()
		require.Equal(t, execution.Failed, row.State)
		require.Equal(t, execution.CodeUsageLimitExceeded, row.Failure.Code)
		require.Contains(t, row.Failure.Message, "maxModelRequests (3)")
		require.Equal(t, int64(1), sent.Load(), "no request was sent beyond the budget")
		require.Equal(t, int64(3), row.Usage.Requests)
		require.Equal(t, int64(2), row.Usage.LostRequests)
		require.True(t, row.Usage.Partial)
		require.Greater(t, row.Usage.InputTokens, int64(10))
		require.Equal(t, row.Usage.InputTokens+2*row.Usage.OutputTokens, row.Usage.CostMicros)
	})
}

// A lost request is charged once, however often its step is tried again afterwards.
func TestALostRequestIsChargedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		attempts := 0
		kit := &local.Kit{Model: fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			require.Equal(t, attempts, request.Attempt, "a lost request takes no turn of a script")
			if attempts++; attempts < 4 {
				return local.ModelResponse{}, &local.Error{Kind: local.Transient, Code: "overloaded"}
			}
			return text("done"), nil
		})}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(BeforeModelRequest)
		_, err := w.store.Claim(t.Context(), journal.ClaimRequest{Execution: w.id, Worker: "mortal", Nonce: "n", TTL: time.Second})
		require.NoError(t, err)
		<-time.After(2 * time.Second)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State)
		require.Equal(t, int64(5), row.Usage.Requests)
		require.Equal(t, int64(1), row.Usage.LostRequests)
	})
}

// Cancel within a request charges what the provider reported so far.
func TestACanceledRequestIsCharged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		kit := &local.Kit{Model: fakeModel(func(ctx context.Context, _ local.ModelRequest) (local.ModelResponse, error) {
			close(asked)
			<-ctx.Done()
			return local.ModelResponse{Usage: &execution.Usage{InputTokens: 7, OutputTokens: 2, Partial: true}}, ctx.Err()
		})}
		w := newWorld(t, &agent.Definition{Model: priced("m")}, kit, nil)
		ctx, stop := context.WithCancel(t.Context())
		watched := make(chan error, 1)
		go func() { watched <- w.durable.Watch(ctx) }()
		w.to(BeforeModelRequest)
		done := w.start()
		<-asked
		_, err := w.store.Cancel(t.Context(), w.id)
		require.NoError(t, err)
		require.NoError(t, <-done)
		row := w.row()
		require.Equal(t, execution.Canceled, row.State)
		require.Equal(t, execution.Usage{
			Requests: 1, InputTokens: 7, OutputTokens: 2, TotalTokens: 9, CostMicros: 11, Partial: true,
		}, row.Usage)
		stop()
		require.ErrorIs(t, <-watched, context.Canceled)
	})
}

// An answer that a limit cut off is no answer.
func TestAnAnswerThatALimitCutOffEndsTheRun(t *testing.T) {
	t.Parallel()
	cut := func(model agent.Model, limits execution.Limits, usage *execution.Usage) advance {
		a, _ := do(t, at(BeforeModelRequest, func(s *situation) {
			s.definition.Model, s.state.Limits = model, limits
			s.kit.Model = fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
				return local.ModelResponse{Text: "half an", FinishReason: "length", Usage: usage}, nil
			})
		}))
		return a
	}
	limited := execution.Limits{MaxOutputTokens: 100}
	a := cut(priced("m"), limited, used(5, 100))
	requireFailure(t, a, execution.CodeUsageLimitExceeded, "limit reached: maxOutputTokens (100)")
	require.Equal(t, execution.TypeModelCompleted, a.events[0].EventType())
	require.Equal(t, "half an", a.messages[0].Text, "it is kept in the history")
	requireFailure(t, cut(priced("m"), execution.Limits{MaxCost: 10_000}, used(5, 4_750)), execution.CodeUsageLimitExceeded, "cut off")

	limited.SuspendOnExceeded = true
	require.Equal(t, execution.ReasonLimit, cut(priced("m"), limited, used(5, 100)).back.suspension.Reason)

	own := priced("m")
	own.MaxOutputTokens = 50
	for name, a := range map[string]advance{
		"the model's own bound": cut(own, execution.Limits{MaxOutputTokens: 100}, used(5, 50)),
		"the default bound":     cut(priced("m"), execution.Limits{MaxOutputTokens: 100_000}, used(5, 8192)),
		"the provider's bound":  cut(priced("m"), execution.Limits{MaxOutputTokens: 5000}, used(5, 4096)),
		"no limit":              cut(priced("m"), execution.Limits{}, used(5, 8192)),
	} {
		require.Equal(t, ModelResponse, a.node, name)
		require.Equal(t, execution.Warning{
			Code: "answer_cut", Message: "openai m cut its answer off: it reached the most that it may say",
		}, a.events[1], name)
	}
}

// A set of tools whose server does not answer costs nothing: the model is not asked.
func TestAToolListThatFailsIsNotCharged(t *testing.T) {
	t.Parallel()
	for kind, code := range map[local.ErrorKind]string{local.Transient: "mcp_unavailable", local.Permanent: "mcp_unknown_tool"} {
		a, _ := do(t, at(BeforeModelRequest, func(s *situation) {
			s.kit.Tools = []local.Tool{brokenSet{tool("files", "", says("x")), &local.Error{Kind: kind, Code: code, Message: "no"}}}
		}))
		require.Zero(t, a.state.Usage.Requests)
		if kind == local.Permanent {
			requireFailure(t, a, code, "no")
			continue
		}
		require.Equal(t, code, a.back.retry.Code)
	}
}

type brokenSet struct {
	*fakeTool
	err error
}

func (s brokenSet) Tools(context.Context) ([]local.Tool, error) { return nil, s.err }
func (s brokenSet) Find(string) local.Tool                      { return nil }

// The bound of a request's input is above what any tokenizer makes of it: even one that makes a token of every byte, with
// words of its own around messages and tools. And what was counted before tightens it.
func TestTheInputBoundHolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{situation: at(BeforeModelRequest, nil)}
		m.messages = nil
		tools := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) local.ToolSpec {
			return local.ToolSpec{Name: "t", Description: rapid.String().Draw(rt, "description"), Parameters: json.RawMessage(`{"type":"object"}`)}
		}), 0, 3).Draw(rt, "tools")
		for turn := range rapid.IntRange(1, 6).Draw(rt, "turns") {
			m.messages = append(m.messages, execution.Message{Role: execution.RoleUser, Text: rapid.String().Draw(rt, "user")})
			request := m.modelRequest(agent.Model{}, tools)
			actual := everyByte(&request)
			bound := m.inputBound(&request, "m")
			require.GreaterOrEqual(rt, bound, actual, "turn %d", turn)
			answer := local.ModelResponse{Text: rapid.String().Draw(rt, "text")}
			if rapid.Bool().Draw(rt, "calls") {
				answer.ToolCalls = []execution.ToolCall{callOf(0, "t")}
			}
			said := int64(len(answer.Text))
			for _, call := range answer.ToolCalls {
				said += int64(len(call.Name) + len(call.Arguments))
			}
			if rapid.Bool().Draw(rt, "counts") {
				answer.Usage = used(max(1, actual), said)
			}
			m.state.Prompt = m.counted(&request, "m", &answer)
			m.messages = append(m.messages, execution.Message{Role: execution.RoleAssistant, Text: answer.Text, ToolCalls: answer.ToolCalls})
			for _, call := range answer.ToolCalls {
				if rapid.Bool().Draw(rt, "answered") {
					m.messages = append(m.messages, resultMessage(execution.TextResult(call, rapid.String().Draw(rt, "result"))))
				}
			}
		}
	})
}

// everyByte counts a token for every byte that is sent, and a few around each piece.
func everyByte(request *local.ModelRequest) int64 {
	count := len(request.Instructions) + len(request.OutputSchema)
	for _, message := range request.Messages {
		count += 8 + len(message.Text)
		for _, call := range message.ToolCalls {
			count += 16 + len(call.Name) + len(call.Arguments)
		}
		if message.ToolResult != nil {
			count += 8 + len(plain(message.ToolResult.Content))
		}
	}
	for _, tool := range request.Tools {
		count += 16 + len(tool.Name) + len(tool.Description) + len(tool.Parameters)
	}
	return int64(count)
}

// What reserve lets pass cannot pass a limit, whatever the model uses of what it was given.
func TestCaseJ3_WhatIsReservedIsEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := func(name string) int64 { return rapid.SampledFrom([]int64{0, 1, 2000, 5000, 100_000}).Draw(rt, name) }
		model := priced("m")
		model.Prices.CachedInputPer1M = rapid.Int64Range(0, 3_000_000).Draw(rt, "cached price")
		model.MaxOutputTokens = rapid.SampledFrom([]int64{0, 100}).Draw(rt, "own bound")
		m := &machine{situation: at(BeforeModelRequest, func(s *situation) {
			s.definition.Model = model
			s.state.Limits = execution.Limits{
				MaxInputTokens: limit("input"), MaxOutputTokens: limit("output"), MaxTotalTokens: limit("total"), MaxCost: limit("cost"),
			}
		})}
		for range 50 {
			asked := asking{model: model, request: m.modelRequest(model, nil)}
			if over := m.reserve(&asked); over != "" {
				return
			}
			request := asked.request
			most := int64(math.MaxInt32)
			if model.MaxOutputTokens > 0 {
				most = model.MaxOutputTokens
			}
			if request.MaxOutputTokens > 0 {
				most = min(most, request.MaxOutputTokens)
			}
			input := rapid.Int64Range(1, m.inputBound(&request, nameOf(model))).Draw(rt, "input used")
			usage := used(input, rapid.Int64Range(0, most).Draw(rt, "output used"))
			usage.CacheReadTokens = rapid.Int64Range(0, input).Draw(rt, "cached")
			m.charge(model, usage)
			require.Empty(rt, m.tokensOver(), "%+v %+v", m.state.Usage, m.state.Limits)
			m.state.Turn++
		}
	})
}
