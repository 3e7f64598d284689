package agent

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// Adjustments are what holds for one execution in place of its definition, as it is stored with it: what its submission
// overrides, the limits of its last resume, which hold in place of all others, and the hash of the Roster by which it calls
// other agents.
type Adjustments struct {
	execution.Overrides
	Limits *execution.Limits `json:"limits,omitempty"`
	Roster string            `json:"roster,omitempty"`
}

// DecodeAdjustments reads what an execution was stored with; nothing is the zero value. A field that it does not know, of a
// later version, is an error: to leave it out would run something else.
func DecodeAdjustments(data []byte) (a Adjustments, err error) {
	if len(data) == 0 {
		return a, nil
	}
	if err := decodeStored(data, &a); err != nil {
		return a, fmt.Errorf("overrides: %w", err)
	}
	return a, nil
}

// Encode is the stored form.
func (a Adjustments) Encode() ([]byte, error) {
	data, err := json.Marshal(a)
	if err != nil {
		return nil, fmt.Errorf("overrides: %w", err)
	}
	return data, nil
}

// Adjusted returns the definition that holds for an execution. An error is an *OverrideError.
func (d *Definition) Adjusted(a Adjustments) (*Definition, error) {
	own, err := d.With(a.Overrides)
	if err != nil || a.Limits == nil {
		return own, err
	}
	limited := *own
	limited.Limits = *a.Limits
	return &limited, nil
}
