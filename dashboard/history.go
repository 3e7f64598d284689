package dashboard

import (
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strconv"

	"github.com/pawl-run/pawl/execution"
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
