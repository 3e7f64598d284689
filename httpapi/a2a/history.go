package a2a

import (
	"context"
	"fmt"
	"slices"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
)

const (
	// defaultHistory is how many messages tasks/get gives when it is not asked for a number.
	defaultHistory = 100
	// historyWindow is how many messages one look at a history brings.
	historyWindow = 50
	// maxLooked bounds how many messages are looked at for those that somebody has said, and maxHistory the bytes of these: an
	// answer costs no more, however long the conversation is.
	maxLooked  = 2000
	maxHistory = 4 << 20
)

// history is the newest n messages of the task's context that a person would call one: what was said, without calls of tools.
// It is fewer where the bounds are met.
func (h *handler) history(ctx context.Context, view execution.View, n int) ([]*sdk.Message, error) {
	if n == 0 {
		return nil, nil
	}
	standing, err := h.standing(ctx, sdk.TaskID(view.ID))
	if err != nil {
		return nil, err
	}
	var newest []*sdk.Message // the last one first
	bytes, end := 0, standing.Messages
	for oldest := max(0, end-maxLooked); end > oldest && len(newest) < n && bytes < maxHistory; end = max(oldest, end-historyWindow) {
		window, err := h.window(ctx, view, max(oldest, end-historyWindow), end)
		if err != nil {
			return nil, fmt.Errorf("history of %s: %w", view.ID, err)
		}
		for i := len(window) - 1; i >= 0 && len(newest) < n && bytes < maxHistory; i-- {
			newest, bytes = append(newest, window[i]), bytes+weight(window[i])
		}
	}
	slices.Reverse(newest)
	return newest, nil
}

// window is what was said among the messages from from to end.
func (h *handler) window(ctx context.Context, view execution.View, from, end int) ([]*sdk.Message, error) {
	var all []*sdk.Message
	for from < end {
		page, err := h.link(ctx).Messages(ctx, view.ID, from, end-from) // fewer when they are large
		if err != nil {
			return nil, err
		}
		for _, stored := range page.Messages {
			if message := messageOf(view, stored); message != nil {
				all = append(all, message)
			}
		}
		if len(page.Messages) == 0 {
			break
		}
		from = page.NextFrom
	}
	return all, nil
}

// weight is about how many bytes a message has.
func weight(message *sdk.Message) (bytes int) {
	for _, part := range message.Parts {
		switch p := part.(type) {
		case sdk.TextPart:
			bytes += len(p.Text)
		case sdk.FilePart:
			if file, is := p.File.(sdk.FileBytes); is {
				bytes += len(file.Bytes)
			}
		}
	}
	return bytes
}

// messageOf is a message of a history as the protocol has it; nil for one that nobody has said to somebody.
func messageOf(view execution.View, stored execution.HistoryMessage) *sdk.Message {
	role := sdk.MessageRoleAgent
	if stored.Role == execution.RoleUser {
		role = sdk.MessageRoleUser
	}
	parts := partsOf(stored.Message)
	if stored.Role == execution.RoleTool || len(parts) == 0 {
		return nil
	}
	message := said(view.ID, view.ConversationID, fmt.Sprintf("%s-message-%d", view.ConversationID, stored.Index), nil, parts...)
	message.Role, message.TaskID = role, ""
	return message
}

func partsOf(message execution.Message) []sdk.Part {
	if message.Text != "" {
		return []sdk.Part{sdk.TextPart{Text: message.Text}}
	}
	var parts []sdk.Part
	for _, part := range message.Parts {
		switch part.Type {
		case execution.PartText:
			parts = append(parts, sdk.TextPart{Text: part.Text})
		case execution.PartImageURL:
			parts = append(parts, sdk.FilePart{File: sdk.FileURI{URI: part.URL}})
		case execution.PartImage:
			parts = append(parts, sdk.FilePart{File: sdk.FileBytes{
				Bytes: part.Data, FileMeta: sdk.FileMeta{MimeType: part.MediaType},
			}})
		}
	}
	return parts
}
