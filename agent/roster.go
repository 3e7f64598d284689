package agent

import (
	"encoding/json"
	"fmt"
)

// Roster says which definition each agent has for an execution and for those that it starts, by the hashes of the
// definitions. It is stored like a definition, under its own hash, so that nobody in a tree of executions ever runs another
// one.
type Roster struct {
	Agents map[string]string `json:"agents"`
}

// Encode is the stored form and its hash. Equal rosters have equal forms.
func (r Roster) Encode() (data []byte, hash string, err error) {
	if data, err = json.Marshal(r); err != nil { // maps are written sorted
		return nil, "", fmt.Errorf("roster: %w", err)
	}
	return data, hashOf(data), nil
}

// DecodeRoster reads the stored form. A field that it does not know, of a later version, is an error.
func DecodeRoster(data []byte) (r Roster, err error) {
	if err := decodeStored(data, &r); err != nil {
		return r, fmt.Errorf("roster: %w", err)
	}
	return r, nil
}
