package a2a

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/backend"
)

// taskOutput is the answer of a task: the text of its artifacts, else that of its last status, else of its last message.
func taskOutput(task *a2a.Task) backend.RunOutput {
	var output backend.RunOutput
	var texts []string
	for _, artifact := range task.Artifacts {
		if artifact == nil {
			continue
		}
		output.Artifacts = append(output.Artifacts, artifactOf(string(artifact.ID), artifact.Name, artifact.Parts))
		if text := textOf(artifact.Parts); text != "" {
			texts = append(texts, text)
		}
	}
	text := strings.Join(texts, "\n\n")
	if text == "" {
		text = statusText(task)
	}
	if text == "" {
		text = lastText(task.History)
	}
	output.Text = &text
	return output
}

// messageOutput is the answer of an agent that answers without a task. What is not text becomes an artifact.
func messageOutput(message *a2a.Message) backend.RunOutput {
	text := textOf(message.Parts)
	output := backend.RunOutput{Text: &text}
	rest := slices.DeleteFunc(slices.Clone(message.Parts), func(part a2a.Part) bool {
		_, isText := part.(a2a.TextPart)
		return isText
	})
	if len(rest) > 0 {
		output.Artifacts = []backend.Artifact{artifactOf(message.ID, "", rest)}
	}
	return output
}

// statusText is what the agent says of the task's present status.
func statusText(task *a2a.Task) string {
	if task.Status.Message == nil {
		return ""
	}
	return textOf(task.Status.Message.Parts)
}

func lastText(history []*a2a.Message) string {
	if len(history) == 0 {
		return ""
	}
	last := history[len(history)-1]
	if last == nil || last.Role != a2a.MessageRoleAgent {
		return ""
	}
	return textOf(last.Parts)
}

// textOf is the text among the parts. Agents send one text in several pieces, so nothing is put between them.
func textOf(parts a2a.ContentParts) string {
	var b strings.Builder
	for _, part := range parts {
		if text, ok := part.(a2a.TextPart); ok {
			b.WriteString(text.Text)
		}
	}
	return b.String()
}

// artifactOf is an artifact in no transport's shape: a text, a JSON value or a file, and a list of such parts when it is
// more than one of them.
func artifactOf(id, name string, parts a2a.ContentParts) backend.Artifact {
	artifact := backend.Artifact{ID: optional(id), Name: optional(name)}
	contents := make([]json.RawMessage, 0, len(parts))
	for _, part := range parts {
		contents = append(contents, encoded(part))
	}
	switch {
	case isText(parts):
		artifact.MediaType, artifact.Content = optional("text/plain"), encoded(textOf(parts))
	case len(parts) != 1:
		artifact.Content = encoded(contents)
	default:
		artifact.Content = contents[0]
		switch part := parts[0].(type) {
		case a2a.DataPart:
			artifact.MediaType, artifact.Content = optional("application/json"), encoded(part.Data)
		case a2a.FilePart:
			artifact.MediaType, artifact.Content = optional(mediaType(part)), encoded(part.File)
		}
	}
	return artifact
}

func isText(parts a2a.ContentParts) bool {
	return len(parts) > 0 && !slices.ContainsFunc(parts, func(part a2a.Part) bool {
		_, text := part.(a2a.TextPart)
		return !text
	})
}

func mediaType(part a2a.FilePart) string {
	switch file := part.File.(type) {
	case a2a.FileBytes:
		return file.MimeType
	case a2a.FileURI:
		return file.MimeType
	}
	return ""
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// encoded is JSON of what came as JSON.
func encoded(value any) json.RawMessage {
	data, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}
