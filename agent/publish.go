package agent

// Publish says how an agent is shown to the agents of others. It is part of no stored definition: it changes nothing of how
// an execution runs.
type Publish struct {
	Name        string // what people call the agent; its own name by default
	Description string
	Skills      []Skill
}

// Skill is one thing that a published agent is good at.
type Skill struct {
	ID          string
	Name        string
	Description string
	Tags        []string
	Examples    []string // what one may say to it
}
