package a2a

import (
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// told are the messages to tell of: the new ones, those that a message told of that is sent again, or all of them.
func told(all, latest []backend.Message, from string) []backend.Message {
	if len(latest) > 0 {
		return latest
	}
	if from != "" {
		if i := slices.IndexFunc(all, func(m backend.Message) bool { return m.ID == from }); i >= 0 {
			return all[i:]
		}
	}
	return all
}

// userParts is what the user says in the messages, in the protocol's form.
func userParts(messages []backend.Message) a2a.ContentParts {
	var parts a2a.ContentParts
	for _, message := range messages {
		if message.Role != execution.RoleUser {
			continue
		}
		if strings.TrimSpace(message.Text) != "" {
			parts = append(parts, a2a.TextPart{Text: message.Text})
		}
		for _, part := range message.Parts {
			if sent := partOf(part); sent != nil {
				parts = append(parts, sent)
			}
		}
	}
	return parts
}

func partOf(part execution.Part) a2a.Part {
	switch part.Type {
	case execution.PartText:
		if strings.TrimSpace(part.Text) != "" {
			return a2a.TextPart{Text: part.Text}
		}
	case execution.PartImageURL:
		return a2a.FilePart{File: a2a.FileURI{URI: part.URL}}
	case execution.PartImage:
		return a2a.FilePart{File: a2a.FileBytes{Bytes: part.Data, FileMeta: a2a.FileMeta{MimeType: part.MediaType}}}
	}
	return nil
}

const nothingToSendText = "there is no text of a user to send to the remote agent"

// historyOfAnswers is how much of a task's history is asked for: its last message may be the answer.
const historyOfAnswers = 2

// params is the message to send.
func (h handle) params(parts a2a.ContentParts) *a2a.MessageSendParams {
	blocking, history := false, historyOfAnswers
	message := &a2a.Message{ID: h.MessageID, Role: a2a.MessageRoleUser, Parts: parts, ContextID: h.ContextID}
	if h.Answers {
		message.TaskID = h.TaskID
	}
	return &a2a.MessageSendParams{
		Message: message, Config: &a2a.MessageSendConfig{Blocking: &blocking, HistoryLength: &history},
	}
}
