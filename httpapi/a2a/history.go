package a2a

import (
	"context"
	"fmt"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
)

const (
	// defaultHistory is how many messages tasks/get gives when it is not asked for a number.
	defaultHistory = 100
	// historyPage is how many messages one look at a history brings.
	historyPage = 200
)

// history is the newest n messages of the task's context that a person would call one: what was said, without calls of tools.
func (h *handler) history(ctx context.Context, view execution.View, n int) ([]*sdk.Message, error) {
	if n == 0 {
		return nil, nil
	}
	var newest []*sdk.Message // the last one first
	read := func(from, limit int) (execution.MessagePage, error) {
		return h.link(ctx).Messages(ctx, view.ID, from, limit)
	}
	page, err := read(0, historyPage)
	end := page.NextFrom
	if err == nil && page.HasMore {
		if end, err = lastFrom(end, read); err == nil {
			page, err = read(max(0, end-historyPage), historyPage)
		}
	}
	for err == nil {
		first := end
		for i := len(page.Messages) - 1; i >= 0; i-- {
			first = page.Messages[i].Index
			if message := messageOf(view, page.Messages[i]); message != nil && len(newest) < n {
				newest = append(newest, message)
			}
		}
		if first == 0 || len(page.Messages) == 0 || len(newest) == n {
			break
		}
		end = first
		page, err = read(max(0, end-historyPage), min(end, historyPage))
	}
	if err != nil {
		return nil, fmt.Errorf("history of %s: %w", view.ID, err)
	}
	for i, j := 0, len(newest)-1; i < j; i, j = i+1, j-1 {
		newest[i], newest[j] = newest[j], newest[i]
	}
	return newest, nil
}

// lastFrom is how many messages there are: at least so many. It looks at a few of them only.
func lastFrom(atLeast int, read func(from, limit int) (execution.MessagePage, error)) (int, error) {
	there := func(index int) (bool, error) {
		page, err := read(index, 1)
		return len(page.Messages) > 0, err
	}
	step, above := historyPage, 0
	for above == 0 {
		is, err := there(atLeast + step)
		switch {
		case err != nil:
			return 0, err
		case is:
			atLeast, step = atLeast+step, 2*step
		default:
			above = atLeast + step
		}
	}
	for atLeast+1 < above { // the message at atLeast - 1 is there, that at above is not
		middle := (atLeast + above) / 2
		is, err := there(middle)
		if err != nil {
			return 0, err
		}
		if is {
			atLeast = middle
		} else {
			above = middle
		}
	}
	return above, nil
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
