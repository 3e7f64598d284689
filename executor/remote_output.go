package executor

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
)

// maxArtifacts is how many bytes of a remote's artifacts are kept, and of the output that goes with its state.
const maxArtifacts = agent.DefaultResultLimit

// warningArtifactLeft is the code of a warning about artifacts whose content was left at the remote.
const warningArtifactLeft = "artifact_omitted"

// mediaText is what artifacts of text alone are, which the answer holds.
const mediaText = "text/plain"

// artifact is a backend.Artifact in an outcome. Content that is too long, or nested too deep, is left out, and its length told.
type artifact struct {
	ID           *string         `json:"id,omitempty"`
	Name         *string         `json:"name,omitempty"`
	MediaType    *string         `json:"mediaType,omitempty"`
	Content      json.RawMessage `json:"content"`
	OmittedBytes int             `json:"omittedBytes,omitempty"`
}

// structured is what of a remote's answer is more than its text: {"artifacts": […]}; nil when there is nothing. left counts
// the artifacts whose content is left out.
func structured(artifacts []backend.Artifact) (output json.RawMessage, left int, err error) {
	plain := !slices.ContainsFunc(artifacts, func(a backend.Artifact) bool { return a.MediaType == nil || *a.MediaType != mediaText })
	if plain {
		return nil, 0, nil
	}
	kept := make([]artifact, len(artifacts))
	room := maxArtifacts
	for i, a := range artifacts {
		kept[i] = artifact{ID: a.ID, Name: a.Name, MediaType: a.MediaType, Content: a.Content}
		if len(a.Content) > room || tooDeep(a.Content) {
			kept[i].Content, kept[i].OmittedBytes = json.RawMessage("null"), len(a.Content)
			left++
			continue
		}
		room -= len(a.Content)
	}
	output, err = json.Marshal(map[string][]artifact{"artifacts": kept})
	if err != nil {
		return nil, 0, fmt.Errorf("encode the artifacts of a remote run: %w", err)
	}
	return output, left, nil
}

// withoutLongOutput is the state without the output in it when that is too long to be kept twice, or nested too deep to be
// read again inside of what it is kept in.
func withoutLongOutput(state *backend.PersistedState) *backend.PersistedState {
	if state == nil {
		return state
	}
	if output := state.Extensions[backend.OutputStateKey]; len(output) <= maxArtifacts && !tooDeep(output) {
		return state
	}
	state = state.Clone()
	delete(state.Extensions, backend.OutputStateKey)
	return state
}
