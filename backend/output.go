package backend

import (
	"encoding/json"
	"errors"
	"fmt"
)

// RunOutput is what a backend keeps of an answer. What is empty is left out of its JSON.
type RunOutput struct {
	Text      *string         `json:"text,omitempty"` // nil: no text; empty is a text
	Artifacts []Artifact      `json:"artifacts,omitempty"`
	Raw       json.RawMessage `json:"raw,omitempty"` // the backend's own form of the answer
}

// Artifact is one piece of an answer, in no transport's shape.
type Artifact struct {
	ID        *string         `json:"id,omitempty"`
	Name      *string         `json:"name,omitempty"`
	MediaType *string         `json:"mediaType,omitempty"`
	Content   json.RawMessage `json:"content"` // any JSON; required
}

// ErrArtifactContent reports an artifact without content.
var ErrArtifactContent = errors.New("artifact: content is missing")

// UnmarshalJSON refuses an artifact without content with ErrArtifactContent; null is a content.
func (a *Artifact) UnmarshalJSON(data []byte) error {
	type plain Artifact
	var artifact plain
	if err := json.Unmarshal(data, &artifact); err != nil {
		return fmt.Errorf("artifact: %w", err)
	}
	if artifact.Content == nil {
		return ErrArtifactContent
	}
	*a = Artifact(artifact)
	return nil
}

// OutputFromText is an output of text alone; nil is an empty output.
func OutputFromText(text *string) RunOutput { return RunOutput{Text: text} }

// TextOr is the text, else the fallback. An empty text counts as one.
func (o RunOutput) TextOr(fallback *string) *string {
	if o.Text != nil {
		return o.Text
	}
	return fallback
}

// IsZero reports whether there is nothing in the output.
func (o RunOutput) IsZero() bool { return o.Text == nil && len(o.Artifacts) == 0 && len(o.Raw) == 0 }
