package linktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// BoundaryOf shows the checkpoints of the suite's executions.
func BoundaryOf(data []byte) (execution.Checkpoint, error) {
	var stored struct {
		V        int             `json:"v"`
		Turn     int             `json:"turn"`
		Evidence json.RawMessage `json:"evidence"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return execution.Checkpoint{}, err
	}
	if stored.V != 1 {
		return execution.Checkpoint{}, fmt.Errorf("version %d", stored.V)
	}
	if stored.Evidence == nil {
		stored.Evidence = json.RawMessage(`{}`)
	}
	return execution.Checkpoint{Node: "model_response", Turn: stored.Turn, Evidence: stored.Evidence}, nil
}

// MessageOf reads the messages of the suite's executions. Of a call that was open at the end it tells the intent.
func MessageOf(data []byte) (message execution.Message, err error) {
	var sealed struct {
		Sealed *struct {
			CallID execution.CallID `json:"callId"`
			Intent json.RawMessage  `json:"intent"`
		} `json:"sealed"`
	}
	if err := errors.Join(json.Unmarshal(data, &message), json.Unmarshal(data, &sealed)); err != nil {
		return message, err
	}
	if call := sealed.Sealed; call != nil {
		message.ToolResult = &execution.ToolResult{CallID: call.CallID, Name: "lookup", Content: call.Intent}
	}
	return message, nil
}

// Say commits one step that adds messages to the history.
func (w *Worker) Say(messages ...string) {
	w.t.Helper()
	w.step(`{"v":1}`, messages...)
}

// Checkpoint commits one step that goes on, with a checkpoint.
func (w *Worker) Checkpoint(checkpoint string) {
	w.t.Helper()
	w.step(checkpoint)
}

// step commits one step that goes on, with a checkpoint and messages.
func (w *Worker) step(checkpoint string, messages ...string) {
	w.t.Helper()
	stored := make([][]byte, len(messages))
	for i, message := range messages {
		stored[i] = []byte(message)
	}
	_, err := w.store.Commit(context.Background(), journal.Commit{
		Hold: journal.Hold{Execution: w.id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step, Node: "model_response",
		Checkpoint: []byte(checkpoint), Messages: stored, Then: journal.Then{Kind: journal.ThenContinue},
		ClaimedAtMs: w.claim.NowMs,
	})
	require.NoError(w.t, err)
	w.again()
}

const (
	secretive = `{"role":"assistant","text":"Looking.","toolCalls":[{"callId":"call_0_0","name":"lookup","arguments":{"b":1},` +
		`"providerId":"toolu_hidden"}],"provider":{"name":"p","data":{"signature":"hidden"}},"step":3}`
	result = `{"role":"tool","toolResult":{"callId":"call_0_0","name":"lookup","content":{"a":[]}}}`
)

func messagePages(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.Say(secretive, result)
	var texts []string
	for i := range 60 {
		texts = append(texts, fmt.Sprintf(`{"role":"assistant","text":"%d"}`, i))
	}
	w.Say(texts...)
	var got []execution.HistoryMessage
	for from, more := 0, true; more; {
		page, err := h.Local().Messages(bounded(t), id, from, 25)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Messages), 25)
		got = append(got, page.Messages...)
		from, more = page.NextFrom, page.HasMore
	}
	require.Len(t, got, 63)
	for i, message := range got {
		require.Equal(t, i, message.Index)
	}
	require.Equal(t, "hello", got[0].Text)
	require.Equal(t, "lookup", got[1].ToolCalls[0].Name)
	require.JSONEq(t, `{"b":1}`, string(got[1].ToolCalls[0].Arguments))
	require.EqualValues(t, 3, *got[1].Step)
	require.JSONEq(t, `{"a":[]}`, string(got[2].ToolResult.Content))
	require.Equal(t, "59", got[62].Text)
	shown, err := json.Marshal(got)
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hidden", "what is between an adapter and its provider")
	page, err := h.Local().Messages(bounded(t), id, 63, 1_000_000)
	require.NoError(t, err)
	require.Equal(t, execution.MessagePage{Messages: []execution.HistoryMessage{}, NextFrom: 63}, page)
}

func messagesOfConversation(t *testing.T, h Harness) {
	texts := func(id execution.ID) (texts []string) {
		page, err := h.Local().Messages(bounded(t), id, 0, 100)
		require.NoError(t, err)
		require.False(t, page.HasMore)
		for _, message := range page.Messages {
			texts = append(texts, message.Text)
		}
		return texts
	}
	first := submit(t, h.Local())
	w := Claim(t, h.Store, first)
	w.Say(`{"role":"assistant","text":"one"}`)
	view, err := h.Local().Execution(bounded(t), first)
	require.NoError(t, err)
	request := Request("more")
	request.ConversationID, request.OnBusy = view.ConversationID, execution.BusyEnqueue
	created, err := h.Local().Create(bounded(t), "", request)
	require.NoError(t, err)
	second := created.View.ID
	require.Empty(t, texts(second), "its turn has not come")
	w.Complete("done")
	Claim(t, h.Store, second).Say(`{"role":"assistant","text":"two"}`)
	require.Equal(t, []string{"hello", "one"}, texts(first), "not what came after its end")
	require.Equal(t, []string{"hello", "one", "more", "two"}, texts(second))
}

// messagesOfOpenCalls: case E2, whoever reads a history sees the answers that its end gave.
func messagesOfOpenCalls(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	_, err := h.Store.Commit(bounded(t), journal.Commit{
		Hold: journal.Hold{Execution: id, Fence: w.claim.Fence}, Step: w.claim.Execution.Step, Node: "tool_call",
		Checkpoint: []byte(`{"v":1}`), Messages: [][]byte{[]byte(secretive)}, Then: journal.Then{Kind: journal.ThenContinue},
		Plan:  []journal.Plan{{CallID: "call_0_0", Intent: []byte(`{"b":1}`)}},
		Batch: []execution.CallID{"call_0_0"},
	})
	require.NoError(t, err)
	_, err = h.Local().Cancel(bounded(t), id)
	require.NoError(t, err)
	page, err := h.Local().Messages(bounded(t), id, 0, 10)
	require.NoError(t, err)
	require.Len(t, page.Messages, 3)
	answer := page.Messages[2]
	require.Equal(t, 2, answer.Index)
	require.Equal(t, id, answer.Execution)
	require.Equal(t, execution.RoleTool, answer.Role)
	require.Equal(t, &execution.ToolResult{CallID: "call_0_0", Name: "lookup", Content: json.RawMessage(`{"b":1}`)}, answer.ToolResult)
}

func messagePagesByBytes(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	large := func(bytes int) string { return `{"role":"assistant","text":"` + strings.Repeat("x", bytes) + `"}` }
	for range 8 {
		w.Say(large(1 << 20))
	}
	w.Say(large(6<<20), `{"role":"assistant","text":"last"}`)
	var sizes []int
	count := 0
	for from, more := 0, true; more; {
		page, err := h.Local().Messages(bounded(t), id, from, 1000)
		require.NoError(t, err)
		bytes := 0
		for _, message := range page.Messages {
			require.Equal(t, count, message.Index)
			count++
			bytes += len(message.Text)
		}
		sizes = append(sizes, bytes>>20)
		from, more = page.NextFrom, page.HasMore
	}
	require.Equal(t, 11, count, "all of them")
	require.Equal(t, []int{3, 3, 2, 6, 0}, sizes, "about 4 MiB a page; one message larger than that still comes")
}

func checkpointPages(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	for i := 1; i <= 5; i++ {
		w.step(fmt.Sprintf(`{"v":1,"turn":%d,"evidence":{"cursor":{"messageCursor":%d}}}`, i, 10*i))
	}
	w.Complete("done")
	view, err := h.Local().Execution(bounded(t), id)
	require.NoError(t, err)
	var got []execution.Checkpoint
	for from, more := execution.Step(0), true; more; {
		page, err := h.Local().Checkpoints(bounded(t), id, from, 3)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Checkpoints), 3)
		got = append(got, page.Checkpoints...)
		from, more = page.NextFrom, page.HasMore
	}
	require.Len(t, got, 7, "the one of the start and that of the end among them")
	for i, checkpoint := range got {
		require.EqualValues(t, i, checkpoint.Step)
		require.Equal(t, "model_response", checkpoint.Node)
		if i == 0 {
			require.Equal(t, view.CreatedAtMs, checkpoint.CommittedAtMs, "the first one is written with the execution")
			require.Zero(t, checkpoint.ClaimedAtMs)
			continue
		}
		require.GreaterOrEqual(t, checkpoint.CommittedAtMs, checkpoint.ClaimedAtMs)
		require.GreaterOrEqual(t, checkpoint.ClaimedAtMs, view.StartedAtMs)
		require.LessOrEqual(t, got[i-1].CommittedAtMs, checkpoint.CommittedAtMs)
	}
	require.Equal(t, view.EndedAtMs, got[6].CommittedAtMs, "the last one with its end")
	require.Equal(t, 5, got[5].Turn)
	require.JSONEq(t, `{"cursor":{"messageCursor":50}}`, string(got[5].Evidence))
	page, err := h.Local().Checkpoints(bounded(t), id, 1<<40, 10)
	require.NoError(t, err)
	require.Equal(t, execution.CheckpointPage{Checkpoints: []execution.Checkpoint{}, NextFrom: 1 << 40}, page)
}

func checkpointOfAnotherRelease(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	w := Claim(t, h.Store, id)
	w.step(`{"v":7}`)
	w.step(`{"v":1,"turn":2}`)
	page, err := h.Local().Checkpoints(bounded(t), id, 0, 10)
	require.NoError(t, err)
	require.Len(t, page.Checkpoints, 3)
	unread := page.Checkpoints[1]
	require.NotZero(t, unread.CommittedAtMs)
	require.NotZero(t, unread.ClaimedAtMs)
	unread.CommittedAtMs, unread.ClaimedAtMs = 0, 0
	require.Equal(t, execution.Checkpoint{Step: 1, Evidence: json.RawMessage("null")}, unread)
	require.Equal(t, 2, page.Checkpoints[2].Turn)
}

func historyRefusals(t *testing.T, h Harness) {
	id := submit(t, h.Local())
	for _, limit := range []int{0, -1} {
		_, err := h.Local().Messages(bounded(t), id, 0, limit)
		Refused(t, err, execution.InvalidRequest, "limit")
		_, err = h.Local().Checkpoints(bounded(t), id, 0, limit)
		Refused(t, err, execution.InvalidRequest, "limit")
	}
	_, err := h.Local().Messages(bounded(t), id, -1, 10)
	Refused(t, err, execution.InvalidRequest, "from")
}
