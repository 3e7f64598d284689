package local

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// Delegate says which agent a tool runs, and how.
type Delegate struct {
	Agent string
	Mode  agent.DelegateMode
	// Limits bound each run, beside the agent's own and what is left of the caller's.
	Limits execution.Limits
}

// Grant is what the loop gives a run of an agent inside a call.
type Grant struct {
	// Definition is that of the agent.
	Definition *agent.Definition
	// Limits are those of the run: nothing else bounds it.
	Limits execution.Limits
	// Depth is how many calls of agents the run is below an execution that nobody called.
	Depth int
	// Find gives the agents that the run may call itself. It returns ErrNoAgent for another name.
	Find AgentFinder
}

// AgentFinder gives the definition of an agent, as the tree of executions at hand runs it. It returns ErrNoAgent for an agent
// that the tree does not have, else the store's error.
type AgentFinder func(ctx context.Context, name string) (*agent.Definition, error)

// ErrNoAgent reports an agent that is not there.
var ErrNoAgent = errors.New("there is no such agent")

// ErrPrompt reports arguments that do not say what an agent is to do.
var ErrPrompt = errors.New(`the argument "prompt" is required: the text that says what the agent is to do`)

// Prompt is what the arguments of an agent tool ask of the agent: the prompt and, when there are others, those as JSON
// behind it. It returns ErrPrompt when there is no prompt, or a blank one.
func Prompt(arguments json.RawMessage) (string, error) {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &given); err != nil {
		return "", ErrPrompt
	}
	var prompt string
	if err := json.Unmarshal(given[agent.PromptArgument], &prompt); err != nil || backend.CheckPrompt(prompt) != nil {
		return "", ErrPrompt
	}
	if delete(given, agent.PromptArgument); len(given) == 0 {
		return prompt, nil
	}
	others, err := json.Marshal(given) // sorted by name
	if err != nil {
		return "", ErrPrompt
	}
	return prompt + "\n\n" + string(others), nil
}
