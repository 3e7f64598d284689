package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func quoted(t require.TestingT, text string) json.RawMessage {
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return data
}

// An excerpt is within the bound, it begins and ends as the text does, and what it says is left out is what is missing.
func TestExcerptIsHeadAndTail(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 40, -1).Draw(t, "text"), rapid.IntRange(1, 400).Draw(t, "times"))
		limit := rapid.IntRange(1024, 4096).Draw(t, "limit")
		cut := excerpt(text, "", int64(limit))
		require.LessOrEqual(t, len(cut), limit)
		var got string
		require.NoError(t, json.Unmarshal(cut, &got))
		head, rest, found := strings.Cut(got, "\n[… ")
		if !found || got == text {
			require.Equal(t, text, got)
			return
		}
		left, total := 0, 0
		_, err := fmt.Sscanf(rest, "%d of %d", &left, &total)
		require.NoError(t, err)
		_, tail, found := strings.Cut(rest, " …]\n")
		require.True(t, found)
		require.Equal(t, len(text), total)
		require.Equal(t, text, head+text[len(head):len(head)+left]+tail)
	})
}

func TestFitLeavesWhatIsSmall(t *testing.T) {
	t.Parallel()
	small := execution.ToolResult{CallID: "call_0_0", Name: "lookup", Content: quoted(t, strings.Repeat("x", 1022))}
	for _, over := range []agent.OverLimit{"", agent.OverRefuse, agent.OverTruncate, agent.OverStore} {
		got, blob := fit(agent.Results{Over: over, Limit: 1024}, small)
		require.Equal(t, small, got)
		require.Nil(t, blob)
	}
	small.Content = quoted(t, strings.Repeat("x", agent.DefaultResultLimit-2))
	got, _ := fit(agent.Results{}, small)
	require.Equal(t, small, got, "the default")
}

func TestFitStoresTheWholeAndKeepsAnExcerpt(t *testing.T) {
	t.Parallel()
	content := json.RawMessage(`{"rows":[` + strings.Repeat(`"größer",`, 1000) + `"end"]}`)
	large := execution.ToolResult{CallID: "call_0_0", Name: "lookup", Content: content, IsError: true, ErrorKind: execution.ToolExecution}
	got, blob := fit(agent.Results{Over: agent.OverStore, Limit: 2048}, large)
	sum := sha256.Sum256(content)
	require.Equal(t, &journal.Blob{Hash: hex.EncodeToString(sum[:]), Content: content}, blob)
	require.Equal(t, &execution.BlobRef{Hash: blob.Hash, Size: int64(len(content))}, got.Blob)
	require.True(t, got.IsError)
	require.LessOrEqual(t, len(got.Content), 2048)
	said := plain(got.Content)
	require.True(t, strings.HasPrefix(said, `{"rows":["größer",`), said)
	require.True(t, strings.HasSuffix(said, `"end"]}`), said)
	require.Contains(t, said, blob.Hash)

	got, blob = fit(agent.Results{Over: agent.OverTruncate, Limit: 2048}, large)
	require.Nil(t, blob)
	require.Nil(t, got.Blob)
	require.Contains(t, plain(got.Content), fmt.Sprintf("of %d bytes are left out here …]", len(content)))
}

// Case G2: nothing is stored beyond the bound of a blob, and the refusal says why.
func TestCaseG2_FitRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		results agent.Results
		size    int
		want    string
	}{
		"refuse":        {agent.Results{}, agent.DefaultResultLimit + 1, "the result of the tool lookup has 262145 bytes, and results.limit is 262144"},
		"beyond a blob": {agent.Results{Over: agent.OverStore}, journal.MaxBlobBytes + 1, "the result of the tool lookup has 16777217 bytes, and the most that is stored is 16777216"},
	} {
		large := execution.ToolResult{CallID: "call_0_0", Name: "lookup", Content: quoted(t, strings.Repeat("x", c.size-2))}
		got, blob := fit(c.results, large)
		require.Nil(t, blob, name)
		require.Equal(t, execution.ToolTooLarge, got.ErrorKind, name)
		require.Equal(t, c.want, plain(got.Content), name)
	}
	unread := execution.ErrorResult(callOf(0, "lookup"), execution.ToolTooLarge, "more than can be read")
	got, _ := fit(agent.Results{Over: agent.OverTruncate}, unread)
	require.Equal(t, execution.ToolExecution, got.ErrorKind, "the model is told")
	got, _ = fit(agent.Results{}, unread)
	require.Equal(t, execution.ToolTooLarge, got.ErrorKind)
}

// large is a kit whose tool big answers with a text of so many bytes, and whose model asks for small and big at once.
func large(size int) *local.Kit {
	return &local.Kit{Model: script(calling("small", "big"), text("done")), Tools: []local.Tool{
		tool("small", agent.ReadOnly, says("fine")), tool("big", agent.Unsafe, says(strings.Repeat("x", size))),
	}}
}

func TestLargeResultIsStoredBesideTheExecution(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		definition := &agent.Definition{Results: agent.Results{Over: agent.OverStore, Limit: 4096}}
		w := newWorld(t, definition, large(1<<20), nil)
		require.Equal(t, execution.Completed, w.drive().State)
		result := w.history()[3].ToolResult
		require.NotNil(t, result.Blob)
		require.LessOrEqual(t, len(result.Content), 4096)
		whole, err := w.store.Blob(t.Context(), w.id, result.Blob.Hash)
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("x", 1<<20), plain(whole))
		require.Equal(t, int64(len(whole)), result.Blob.Size)
		require.Nil(t, w.history()[2].ToolResult.Blob)
		var told []*execution.BlobRef
		for _, event := range w.events() {
			if completed, ok := event.Payload.(*execution.ToolCompleted); ok && completed.Blob != nil {
				require.Equal(t, "big", completed.Name)
				told = append(told, completed.Blob)
			}
		}
		require.Equal(t, []*execution.BlobRef{result.Blob}, told, "case F9: an event names what is large")
	})
}

// Case G3 with results.over refuse: the run fails and says why, and what the other calls of the batch gave is not lost.
func TestCaseG3_LargeResultIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &agent.Definition{}, large(1<<20), nil)
		row := w.drive()
		require.Equal(t, execution.Failed, row.State)
		require.Equal(t, execution.CodeResultTooLarge, row.Failure.Code)
		require.Equal(t, "the result of the tool big has 1048578 bytes, and results.limit is 262144", row.Failure.Message)
		history := w.history()
		require.Equal(t, `"fine"`, string(history[2].ToolResult.Content))
		require.Equal(t, execution.ToolTooLarge, history[3].ToolResult.ErrorKind)
		require.EqualValues(t, 1, row.Usage.ToolCalls)
		for key, value := range w.dump() {
			require.Less(t, len(value), 64<<10, key)
		}
	})
}

// A worker that dies between the receipt and the end leaves the next one the same end; nothing is called again.
func TestRefusalOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit, called := large(1<<20), 0
		kit.Tools[1].(*fakeTool).call = func(ctx context.Context, call local.Invocation) (local.Answer, error) {
			called++
			return says(strings.Repeat("x", 1<<20))(ctx, call)
		}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		w.to(ToolCall)
		w.durable = w.worker(kit, func(c *Config) {
			c.Store = &flaky{Store: c.Store, before: func(method string) error {
				if method == "commit" {
					return journal.ErrFenced
				}
				return nil
			}}
		})
		require.NoError(t, w.next())
		w.durable = w.worker(kit, nil)
		row := w.drive()
		require.Equal(t, execution.Failed, row.State)
		require.Equal(t, execution.CodeResultTooLarge, row.Failure.Code)
		require.Equal(t, 1, called)
	})
}

// What a person answers is held against the bound like any other result.
func TestLargeAnswerIsHeldAgainstTheBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling("ask"), text("done")), Tools: []local.Tool{
			tool("ask", agent.ReadOnly, asks(local.Question{Kind: execution.Elicitation, Prompt: "Why?"})),
		}}
		w := newWorld(t, &agent.Definition{Results: agent.Results{Limit: 1024}}, kit, nil)
		w.drive()
		w.answer(execution.Input{Type: execution.ElicitationResponse, Text: strings.Repeat("y", 1024)})
		row := w.drive()
		require.Equal(t, execution.CodeResultTooLarge, row.Failure.Code)
		require.Contains(t, row.Failure.Message, "the tool ask has 1026 bytes")
		require.Equal(t, execution.ToolTooLarge, w.history()[2].ToolResult.ErrorKind)
	})
}

// Case F9: a name that a model invents is no way to put a large value into events and checkpoints.
func TestCaseF9_InventedNamesAreCut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kit := &local.Kit{Model: script(calling(strings.Repeat("é", 1<<20)), text("done")), Tools: []local.Tool{
			tool("lookup", agent.ReadOnly, says("fine")),
		}}
		w := newWorld(t, &agent.Definition{}, kit, nil)
		require.Equal(t, execution.Completed, w.drive().State)
		for key, value := range w.dump() {
			require.Less(t, len(value), 16<<10, key)
		}
	})
}

func TestDirectKeepsLargeResults(t *testing.T) {
	t.Parallel()
	definition := &agent.Definition{Name: "demo", Results: agent.Results{Over: agent.OverStore, Limit: 4096}}
	result, err := runDirect(t, definition, large(1<<20), nil)
	require.NoError(t, err)
	require.Equal(t, "done", result.Outcome.Answer)
	ref := result.Messages[3].ToolResult.Blob
	require.Len(t, result.Blobs[ref.Hash], 1<<20+2)
}
