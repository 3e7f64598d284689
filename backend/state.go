package backend

import (
	"encoding/json"
	"maps"
)

// OutputStateKey is the extension of a persisted state that holds the output of the run's last call.
const OutputStateKey = "__runtime_backend_output"

// PersistedState is what a backend keeps of a run between two calls, such as the handle of a remote task.
type PersistedState struct {
	Revision   uint64                     `json:"revision"`
	Extensions map[string]json.RawMessage `json:"extensions"`
}

// Clone is a copy whose extensions may be replaced; nil of nil.
func (s *PersistedState) Clone() *PersistedState {
	if s == nil {
		return nil
	}
	return &PersistedState{Revision: s.Revision, Extensions: maps.Clone(s.Extensions)}
}

// withOutput is the state with the output among its extensions. An output with nothing in it, or one that is no JSON, leaves
// the state as it is; without a state one of revision 0 begins.
func (s *PersistedState) withOutput(output RunOutput) *PersistedState {
	encoded, err := json.Marshal(output)
	if output.IsZero() || err != nil {
		return s
	}
	state := s.Clone()
	if state == nil {
		state = &PersistedState{}
	}
	if state.Extensions == nil {
		state.Extensions = map[string]json.RawMessage{}
	}
	state.Extensions[OutputStateKey] = encoded
	return state
}
