package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// nested is a JSON array of the given depth.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestWhatAToolSaysCanAlwaysBeReadAgain(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"as deep as a decoder goes":  nested(10_000),
		"one less":                   nested(9_999),
		"deeper than any":            nested(20_000),
		"deep behind quotes":         `["\"[", ` + nested(9_999) + `]`,
		"bytes that are no UTF-8":    "{\"a\":\"\xff\xfe\"}",
		"no JSON, and no UTF-8":      "a\x00\xff",
		"brackets in a string alone": `"` + strings.Repeat("[", 20_000) + `"`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := callOf(0, "tool")
			result := normalize(call, execution.ToolResult{Content: json.RawMessage(content)})
			require.True(t, utf8.Valid(result.Content))

			stored, err := encodeReceipt(result)
			require.NoError(t, err)
			read, err := decodeReceipt(stored)
			require.NoError(t, err)
			require.Equal(t, result, read)

			message, err := json.Marshal(resultMessage(read))
			require.NoError(t, err)
			_, err = decodeMessages([][]byte{message})
			require.NoError(t, err)
		})
	}
	require.JSONEq(t, nested(maxDepth), string(asJSON(json.RawMessage(nested(maxDepth)), "null")))
	require.Equal(t, byte('"'), asJSON(json.RawMessage(nested(maxDepth+1)), "null")[0])
}

func TestWhatAModelAsksForCanAlwaysBeReadAgain(t *testing.T) {
	t.Parallel()
	s := at(BeforeModelRequest, func(s *situation) {
		s.kit.Model = fakeModel(func(context.Context, local.ModelRequest) (local.ModelResponse, error) {
			return local.ModelResponse{ToolCalls: []execution.ToolCall{
				{Name: "deep", Arguments: json.RawMessage(`{"a":` + nested(9_999) + `}`)},
				{Name: "bytes", Arguments: json.RawMessage("{\"a\":\"\xff\"}")},
			}}, nil
		})
	})
	a, _ := do(t, s)
	checkpoint, err := NewCheckpoint(s.step+1, a.node, a.state).Encode()
	require.NoError(t, err)
	_, err = DecodeCheckpoint(checkpoint)
	require.NoError(t, err)
	message, err := json.Marshal(a.messages[0])
	require.NoError(t, err)
	_, err = decodeMessages([][]byte{message})
	require.NoError(t, err)
}

func TestAnAnswerThatIsTooDeepDoesNotFit(t *testing.T) {
	t.Parallel()
	_, err := (*schemas)(nil).output(json.RawMessage(`{}`), nested(9_999))
	require.ErrorContains(t, err, "nested deeper")
	_, err = (*schemas)(nil).output(json.RawMessage(`{}`), nested(maxDepth))
	require.NoError(t, err)
}

func TestAHugeBatchTakesNotMoreThanItsShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var now, most, ran atomic.Int64
		slow := func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			most.Store(max(most.Load(), now.Add(1)))
			<-time.After(time.Second)
			now.Add(-1)
			ran.Add(1)
			return says("ok")(ctx, call)
		}
		var tools []*fakeTool
		for i := range 3*maxConcurrentCalls + 1 {
			tools = append(tools, tool(fmt.Sprintf("t%d", i), agent.Unsafe, slow))
		}
		a, env := do(t, inBatch(t, tools...))
		require.Equal(t, ToolReturn, a.node)
		require.EqualValues(t, maxConcurrentCalls, most.Load())
		require.EqualValues(t, len(tools), ran.Load())
		require.Len(t, env.receipts, len(tools))
	})
}

func TestNothingMoreOfABatchIsSentAfterTheStoreRefused(t *testing.T) {
	t.Parallel()
	var ran atomic.Int64
	count := func(ctx context.Context, call local.Invocation) (local.Answer, error) {
		ran.Add(1)
		return says("ok")(ctx, call)
	}
	var tools []*fakeTool
	for i := range 4 * maxConcurrentCalls {
		tools = append(tools, tool(fmt.Sprintf("t%d", i), agent.Reconcile, count))
	}
	s := inBatch(t, tools...)
	env := &refusing{fakeEnv: fakeEnv{now: 1000}}
	a, err := newMachine(s, env).run(t.Context())
	require.ErrorIs(t, err, journal.ErrFenced)
	require.LessOrEqual(t, ran.Load(), int64(2*maxConcurrentCalls))
	require.NotEmpty(t, a.back.unsent, "what was not sent is taken back")
}

// refusing takes started marks and no receipts.
type refusing struct{ fakeEnv }

func (*refusing) Receive(context.Context, receipt) (execution.ToolResult, error) {
	return execution.ToolResult{}, journal.ErrFenced
}

// Case G3: results of a megabyte each do not break the execution; a claim brings the beginning of a long history, and the
// node still sees all of it.
func TestCaseG3_ALongHistoryIsReadInPages(t *testing.T) {
	t.Parallel()
	const calls = 3*historyPage + 1
	require.Greater(t, calls<<18, 2*journal.ClaimHistoryBytes)
	synctest.Test(t, func(t *testing.T) {
		big := tool("big", agent.ReadOnly, says(strings.Repeat("x", 1<<18)))
		names := make([]string, calls)
		for i := range names {
			names[i] = "big"
		}
		var seen []execution.Message
		model := fakeModel(func(_ context.Context, request local.ModelRequest) (local.ModelResponse, error) {
			if request.Attempt == 0 {
				return calling(names...), nil
			}
			seen = request.Messages
			return text("done"), nil
		})
		definition := &agent.Definition{Results: agent.Results{Limit: 1 << 20}}
		w := newWorld(t, definition, &local.Kit{Model: model, Tools: []local.Tool{big}}, nil)
		row := w.drive()
		require.Equal(t, execution.Completed, row.State, row.Suspension)
		require.Len(t, seen, 2+calls)
		for i, message := range seen[2:] {
			require.Equal(t, execution.NewCallID(0, i), message.ToolResult.CallID)
			require.Greater(t, len(message.ToolResult.Content), 1<<18)
		}
	})
}
