package dashboard

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// inHistory is how many messages or checkpoints a page shows.
const inHistory = 100

// messagesPart is a page of the history.
type messagesPart struct {
	Rows       []messageRow
	From, Next int
	Previous   int
	More       bool
}

// messageRow is a message as it is shown.
type messageRow struct {
	Index   int
	Role    execution.Role
	Step    *execution.Step
	Other   execution.ID // the execution that added it, when it is another one
	Text    shownText
	Calls   []shownCall
	Result  *shownResult
	Parts   []shownPart
	JSONURL string
}

type shownCall struct {
	ID        execution.CallID
	Name      string
	Arguments shownText
}

type shownResult struct {
	ID       execution.CallID
	Name     string
	Content  shownText
	Edited   *shownText // the arguments that a person put in place of the call's
	IsError  bool
	Kind     execution.ToolErrorKind
	BlobURL  string
	BlobSize int64
}

// shownPart is text, a picture that is here, or the address of one that is elsewhere: that is never loaded.
type shownPart struct {
	Text shownText
	Data template.URL
	Link string
}

func (p *Pages) messages(w http.ResponseWriter, r *http.Request) error {
	from, err := fromOf(r)
	if err != nil {
		return err
	}
	body, err := p.one(r, "messages")
	if err != nil {
		return err
	}
	page, err := p.link(r).Messages(r.Context(), body.View.ID, from, inHistory)
	if err != nil {
		return err
	}
	part := &messagesPart{From: from, Next: page.NextFrom, Previous: max(0, from-inHistory), More: page.HasMore}
	for i := range page.Messages {
		part.Rows = append(part.Rows, messageOf(body.View.ID, &page.Messages[i]))
	}
	body.Messages = part
	p.showOne(w, r, http.StatusOK, "messages", body, nil)
	return nil
}

func fromOf(r *http.Request) (int, error) {
	text := r.URL.Query().Get("from")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, invalid("from", "must be a number that is not negative")
	}
	return n, nil
}

func messageOf(id execution.ID, m *execution.HistoryMessage) messageRow {
	row := messageRow{
		Index: m.Index, Role: m.Role, Step: m.Step, Text: cut(m.Text),
		JSONURL: fmt.Sprintf("/v1/executions/%s/messages?from=%d&limit=1", id, m.Index),
	}
	if m.Execution != "" && m.Execution != id {
		row.Other = m.Execution
	}
	for _, call := range m.ToolCalls {
		row.Calls = append(row.Calls, shownCall{call.CallID, call.Name, cut(pretty(call.Arguments))})
	}
	if m.ToolResult != nil {
		owner := id
		if m.Execution != "" {
			owner = m.Execution
		}
		row.Result = resultOf(owner, m.ToolResult)
	}
	for _, part := range m.Parts {
		row.Parts = append(row.Parts, partOf(part))
	}
	return row
}

func resultOf(owner execution.ID, result *execution.ToolResult) *shownResult {
	shown := &shownResult{
		ID: result.CallID, Name: result.Name, Content: cut(pretty(result.Content)), IsError: result.IsError, Kind: result.ErrorKind,
	}
	if len(result.Arguments) > 0 {
		edited := cut(pretty(result.Arguments))
		shown.Edited = &edited
	}
	if result.Blob != nil {
		shown.BlobURL = fmt.Sprintf("/v1/executions/%s/blobs/%s", owner, result.Blob.Hash)
		shown.BlobSize = result.Blob.Size
	}
	return shown
}

func partOf(part execution.Part) shownPart {
	switch part.Type {
	case execution.PartImage:
		switch part.MediaType {
		case "image/png", "image/jpeg", "image/gif", "image/webp":
			if _, err := base64.StdEncoding.DecodeString(part.Data); err == nil {
				//nolint:gosec // the type is one of four and the data is base64: it is a picture and nothing else
				return shownPart{Data: template.URL("data:" + part.MediaType + ";base64," + part.Data)}
			}
		}
		return shownPart{Text: cut("a picture that cannot be shown")}
	case execution.PartImageURL:
		return shownPart{Link: part.URL}
	default:
		return shownPart{Text: cut(part.Text)}
	}
}

// callRow is a tool call and what became of it.
type callRow struct {
	ID        execution.CallID
	Name      string
	State     string // planned or done
	Effect    string // the id that the tool is sent, the same each time the call is sent
	Unknown   bool   // somebody is asked what has become of it
	StartedMs int64
	TookMs    int64
	Failed    bool
	Arguments *shownText
	Result    *shownResult
	BlobURL   string
	BlobSize  int64
}

// tools shows the execution's tool calls: when by its log, what by its history.
func (p *Pages) tools(w http.ResponseWriter, r *http.Request) error {
	body, err := p.one(r, "tools")
	if err != nil {
		return err
	}
	l, id := p.link(r), body.View.ID
	events, err := l.Events(r.Context(), id, 0, link.MaxLimit)
	if err != nil {
		return err
	}
	history, err := l.Messages(r.Context(), id, 0, link.MaxLimit)
	if err != nil {
		return err
	}
	body.Calls = callsOf(id, events.Events, history.Messages)
	body.CallsCut = events.HasMore || history.HasMore
	markUnknown(body.Calls, body.View.Interaction)
	p.showOne(w, r, http.StatusOK, "tools", body, nil)
	return nil
}

// markUnknown marks the calls whose outcome nobody knows: those of which the open question asks.
func markUnknown(calls []callRow, question *execution.Interaction) {
	if question == nil || question.Reason != execution.OutcomeUnknown {
		return
	}
	asked := map[execution.CallID]bool{}
	for _, call := range question.Calls {
		asked[call.CallID] = true
	}
	for i := range calls {
		calls[i].Unknown = asked[calls[i].ID] && calls[i].State != "done"
	}
}

func callsOf(id execution.ID, events []execution.Event, history []execution.HistoryMessage) []callRow {
	var calls []callRow
	index := map[execution.CallID]int{}
	for _, event := range events {
		switch e := event.Payload.(type) {
		case *execution.ToolStarted:
			if _, known := index[e.CallID]; !known {
				index[e.CallID] = len(calls)
				calls = append(calls, callRow{
					ID: e.CallID, Name: e.Name, State: "planned", Effect: execution.EffectID(id, e.CallID), StartedMs: event.OccurredAtMs,
				})
			}
		case *execution.ToolCompleted:
			if i, known := index[e.CallID]; known {
				calls[i].State, calls[i].Failed = "done", e.Failed
				calls[i].TookMs = event.OccurredAtMs - calls[i].StartedMs
				if e.Blob != nil {
					calls[i].BlobURL = fmt.Sprintf("/v1/executions/%s/blobs/%s", id, e.Blob.Hash)
					calls[i].BlobSize = e.Blob.Size
				}
			}
		}
	}
	for i := range history {
		if m := &history[i]; m.Execution == id || m.Execution == "" {
			addMessage(calls, index, id, m)
		}
	}
	return calls
}

func addMessage(calls []callRow, index map[execution.CallID]int, id execution.ID, m *execution.HistoryMessage) {
	for _, call := range m.ToolCalls {
		if i, known := index[call.CallID]; known {
			arguments := cut(pretty(call.Arguments))
			calls[i].Arguments = &arguments
		}
	}
	if m.ToolResult != nil {
		if i, known := index[m.ToolResult.CallID]; known {
			calls[i].Result = resultOf(id, m.ToolResult)
		}
	}
}
