package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// noImage stands for an image that a model cannot take.
const noImage = "[an image, which this model cannot take]"

// Piece is a piece of what a model reads: an image when MediaType or URL is set, else text.
type Piece struct {
	Text      string
	URL       string
	MediaType string
	Data      string // base64
}

// IsImage reports whether the piece is an image.
func (p Piece) IsImage() bool { return p.URL != "" || p.MediaType != "" }

// DataURL is the image as an address that holds it.
func (p Piece) DataURL() string {
	if p.URL != "" {
		return p.URL
	}
	return "data:" + p.MediaType + ";base64," + p.Data
}

// Pieces are the pieces of a user's message, at least one. Images become a note for a model that takes none.
func Pieces(message execution.Message, images bool) []Piece {
	if len(message.Parts) == 0 {
		return []Piece{{Text: Visible(message.Text)}}
	}
	pieces := make([]Piece, len(message.Parts))
	for i, part := range message.Parts {
		switch {
		case part.Type == execution.PartText:
			pieces[i].Text = Visible(part.Text)
		case !images:
			pieces[i].Text = noImage
		default:
			pieces[i] = Piece{URL: part.URL, MediaType: part.MediaType, Data: part.Data}
		}
	}
	return pieces
}

// resultContent is a result as MCP servers give it when it is more than a text.
type resultContent struct {
	Content    []resultBlock   `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
}

type resultBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     string `json:"data"`
	MimeType string `json:"mimeType"`
	raw      json.RawMessage
}

// UnmarshalJSON keeps the block as it is beside its fields.
func (b *resultBlock) UnmarshalJSON(data []byte) error {
	type fields resultBlock
	err := json.Unmarshal(data, (*fields)(b))
	b.raw = bytes.Clone(data)
	return err
}

// ResultPieces takes a result with images apart; nil for a result without, which ResultText gives.
func ResultPieces(result *execution.ToolResult, images bool) []Piece {
	if !bytes.Contains(result.Content, []byte(`"image"`)) {
		return nil
	}
	var content resultContent
	if json.Unmarshal(result.Content, &content) != nil {
		return nil
	}
	var pieces []Piece
	found := false
	for _, block := range content.Content {
		switch {
		case block.Type == "text" && strings.TrimSpace(block.Text) != "":
			pieces = append(pieces, Piece{Text: block.Text})
		case block.Type == "text":
		case block.Type == "image" && !images:
			found, pieces = true, append(pieces, Piece{Text: noImage})
		case block.Type == "image" && block.usable():
			found, pieces = true, append(pieces, Piece{MediaType: block.MimeType, Data: block.Data})
		case block.Type == "image": // of a kind that providers refuse, which would end every later request too
			found, pieces = true, append(pieces, Piece{Text: noImage})
		default:
			pieces = append(pieces, Piece{Text: string(block.raw)})
		}
	}
	if !found {
		return nil
	}
	if len(content.Structured) > 0 {
		pieces = append(pieces, Piece{Text: string(content.Structured)})
	}
	return pieces
}

func (b *resultBlock) usable() bool {
	switch b.MimeType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		decoded, err := base64.StdEncoding.DecodeString(b.Data)
		return err == nil && len(decoded) > 0
	}
	return false
}
