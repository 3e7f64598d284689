package wire

import "github.com/pawl-run/pawl/execution"

// MaxReasoning bounds the bytes that are kept of the reasoning of an answer; more of it is not given back at all.
const MaxReasoning = 1 << 20

// Turn is where the turn under way begins in a history: behind the last thing that a user said. What a provider wants back
// of its answers it wants back of those from there on.
func Turn(history []execution.Message) int {
	for i := len(history) - 1; i >= 0; i-- {
		if history[i].Role == execution.RoleUser {
			return i + 1
		}
	}
	return 0
}

// StateName names a model in what it left with its answers.
func (s Settings) StateName() string { return s.Provider + "/" + s.Name }

// State is what this very model left with a message; nil when there is nothing.
func (s Settings) State(message execution.Message) []byte {
	if message.Provider == nil || message.Provider.Name != s.StateName() {
		return nil
	}
	return message.Provider.Data
}
