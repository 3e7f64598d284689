package a2a

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
)

// imageTypes are the media types of files that an agent may be sent.
func imageTypes() []string { return []string{"image/png", "image/jpeg", "image/gif", "image/webp"} }

// maxID bounds the id of a message.
const maxID = 256

// checkMessage refuses a message that says nothing, or is from nobody.
func checkMessage(message *sdk.Message) error {
	switch {
	case message == nil:
		return bad("message", "is required")
	case message.ID == "":
		return bad("message.messageId", "is required: it makes sending the message again safe")
	case len(message.ID) > maxID:
		return bad("message.messageId", "want at most %d bytes", maxID)
	case message.Role != sdk.MessageRoleUser:
		return bad("message.role", "must be %q", sdk.MessageRoleUser)
	case len(message.Parts) == 0:
		return bad("message.parts", "must not be empty")
	default:
		return nil
	}
}

// userMessage is what a message says that begins a task: text, data as text, and images.
func userMessage(parts sdk.ContentParts) (execution.Input, error) {
	input := execution.Input{Type: execution.UserMessage}
	only := true
	for i, part := range parts {
		said, err := userPart(part)
		if err != nil {
			return input, fmt.Errorf("%w (message.parts[%d])", err, i)
		}
		only = only && said.Type == execution.PartText
		input.Parts = append(input.Parts, said)
	}
	if only {
		texts := make([]string, len(input.Parts))
		for i, part := range input.Parts {
			texts[i] = part.Text
		}
		input.Text, input.Parts = strings.Join(texts, "\n\n"), nil
	}
	return input, nil
}

func userPart(part sdk.Part) (execution.Part, error) {
	switch p := part.(type) {
	case sdk.TextPart:
		return execution.Part{Type: execution.PartText, Text: p.Text}, nil
	case sdk.DataPart:
		data, err := json.Marshal(p.Data)
		return execution.Part{Type: execution.PartText, Text: string(data)}, err
	case sdk.FilePart:
		return image(p)
	default:
		return execution.Part{}, fmt.Errorf("%w: want parts of text, data or a file", sdk.ErrUnsupportedContentType)
	}
}

func image(file sdk.FilePart) (execution.Part, error) {
	refused := func(kind string) error {
		return fmt.Errorf("%w: a file must be one of %s, not %q", sdk.ErrUnsupportedContentType, strings.Join(imageTypes(), ", "), kind)
	}
	switch content := file.File.(type) {
	case sdk.FileBytes:
		if !slices.Contains(imageTypes(), content.MimeType) {
			return execution.Part{}, refused(content.MimeType)
		}
		return execution.Part{Type: execution.PartImage, MediaType: content.MimeType, Data: content.Bytes}, nil
	case sdk.FileURI:
		if content.MimeType != "" && !slices.Contains(imageTypes(), content.MimeType) {
			return execution.Part{}, refused(content.MimeType)
		}
		return execution.Part{Type: execution.PartImageURL, URL: content.URI}, nil
	default:
		return execution.Part{}, refused("")
	}
}

// content is what a message that answers says: its text, and its data if it has some.
type content struct {
	text string
	data map[string]any
}

func contentOf(parts sdk.ContentParts) (content, error) {
	var c content
	var texts []string
	for i, part := range parts {
		switch p := part.(type) {
		case sdk.TextPart:
			texts = append(texts, p.Text)
		case sdk.DataPart:
			if c.data != nil {
				return c, bad(fmt.Sprintf("message.parts[%d]", i), "an answer has at most one part of data")
			}
			if c.data = p.Data; c.data == nil {
				c.data = map[string]any{}
			}
		default:
			return c, fmt.Errorf("%w: an answer has parts of text and data (message.parts[%d])", sdk.ErrUnsupportedContentType, i)
		}
	}
	c.text = strings.Join(texts, "\n\n")
	return c, nil
}
