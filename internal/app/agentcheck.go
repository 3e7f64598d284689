package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
)

// AgentsReport is what `pawl agents check` found out about an agent file.
type AgentsReport struct {
	File        string            `json:"file"`
	OK          bool              `json:"ok"` // no mistake, and everything that was asked has answered
	Problems    []AgentsProblem   `json:"problems,omitempty"`
	More        int               `json:"more,omitempty"` // problems that were left out
	Agents      []CheckedAgent    `json:"agents,omitempty"`
	Environment []CheckedVariable `json:"environment,omitempty"`
}

// AgentsProblem is one mistake in the file. Line and Key are not there when it is about the whole file.
type AgentsProblem struct {
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
}

// String is file:line: key: message.
func (p AgentsProblem) String() string {
	return agent.Problem{File: p.File, Line: p.Line, Path: p.Key, Message: p.Message}.String()
}

// AgentsSchema is the JSON Schema of agent files.
func AgentsSchema() []byte { return agent.FileSchema() }

// CheckedAgent is one agent of the file.
type CheckedAgent struct {
	Name    string         `json:"name"`
	Backend string         `json:"backend"`
	Hash    string         `json:"hash"`
	Models  []CheckedModel `json:"models"` // the first one, then its fallbacks; none of a remote agent
	Tools   []CheckedTool  `json:"tools,omitempty"`
	// Endpoint is where a remote agent is.
	Endpoint *CheckedEndpoint `json:"endpoint,omitempty"`
	// Publish is how the agent is shown to the agents of others, where PAWL_A2A is set; nil: it is not.
	Publish *CheckedPublish `json:"publish,omitempty"`
}

// CheckedPublish is how an agent is shown to the agents of others.
type CheckedPublish struct {
	Name   string   `json:"name"`
	Skills []string `json:"skills,omitempty"` // their ids
}

// CheckedEndpoint is where a remote agent is, as the file says it.
type CheckedEndpoint struct {
	About string  `json:"about"` // in words
	Probe *Probed `json:"probe,omitempty"`
}

// CheckedModel is a model of an agent.
type CheckedModel struct {
	Provider string  `json:"provider"`
	Name     string  `json:"name,omitempty"`
	About    string  `json:"about"` // in words
	Probe    *Probed `json:"probe,omitempty"`
}

// CheckedTool is a tool as it is declared; of an MCP server that was asked, also what it gives.
type CheckedTool struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	About    string `json:"about,omitempty"`
	Recovery string `json:"recovery,omitempty"`
	Auth     string `json:"auth,omitempty"` // how its calls are known to its server, beside its headers
	// Approval says which calls a person must approve: always, or when an expression holds; empty: none. Approvals are those of
	// the tools of an MCP server that differ, by the server's own names; never is among them.
	Approval  string            `json:"approval,omitempty"`
	Approvals map[string]string `json:"approvals,omitempty"`
	Probe     *Probed           `json:"probe,omitempty"`
	Gives     []GivenTools      `json:"gives,omitempty"`
}

// GivenTools is a tool that an MCP server gives, under the name by which the model knows it.
type GivenTools struct {
	Name     string `json:"name"`
	Recovery string `json:"recovery"`
}

// Probed is what became of asking a server or a model's endpoint.
type Probed struct {
	OK      bool   `json:"ok"`
	Message string `json:"message"`
	TookMs  int64  `json:"tookMs"`
}

// CheckedVariable is a variable that the file refers to. Its value is nowhere shown.
type CheckedVariable struct {
	Name string   `json:"name"`
	Set  bool     `json:"set"` // in the environment of this program
	Used []string `json:"used"`
}

// AgentsCheck says how to check a file.
type AgentsCheck struct {
	File string
	// Probe asks MCP servers for their tools and the endpoints of models whether they are there.
	Probe bool
	// Timeout bounds each probe. Default 10s.
	Timeout time.Duration
}

// CheckAgents reads an agent file and says what is in it. The error is of a file that cannot be read.
func CheckAgents(ctx context.Context, check AgentsCheck) (AgentsReport, error) {
	if check.Timeout <= 0 {
		check.Timeout = 10 * time.Second
	}
	report := AgentsReport{File: check.File}
	data, err := os.ReadFile(check.File)
	if err != nil {
		return report, fmt.Errorf("read agents: %w", err)
	}
	catalog, err := agent.Parse(check.File, data)
	if wrong := new(agent.FileError); errors.As(err, &wrong) {
		for _, p := range wrong.Problems {
			report.Problems = append(report.Problems, AgentsProblem{File: p.File, Line: p.Line, Key: p.Path, Message: p.Message})
		}
		report.More = wrong.More
		return report, nil
	}
	if err != nil {
		return report, fmt.Errorf("read agents: %w", err)
	}
	var definitions []*agent.Definition
	for _, name := range catalog.Names() {
		definition, _ := catalog.Agent(name)
		definitions = append(definitions, definition)
		report.Agents = append(report.Agents, checkedAgent(definition))
	}
	report.Environment = checkedVariables(definitions)
	report.OK = true
	if check.Probe {
		err = probeAgents(ctx, check.Timeout, definitions, &report)
	}
	return report, err
}

func checkedAgent(d *agent.Definition) CheckedAgent {
	checked := CheckedAgent{Name: d.Name, Backend: d.Backend, Hash: d.Hash(), Models: []CheckedModel{}, Publish: checkedPublish(d)}
	if d.Remote() {
		checked.Endpoint = &CheckedEndpoint{About: d.Endpoint.Description()}
		return checked
	}
	for _, model := range append([]agent.Model{d.Model}, d.Model.Fallback...) {
		checked.Models = append(checked.Models, CheckedModel{Provider: model.Provider, Name: model.Name, About: model.Description()})
	}
	for i := range d.Tools {
		tool := &d.Tools[i]
		one := CheckedTool{Name: tool.Name, Type: string(tool.Type), Recovery: string(tool.Recovery), Auth: tool.Auth, About: tool.URL}
		one.Approval, one.Approvals = checkedApprovals(tool)
		switch {
		case len(tool.Command) > 0:
			one.About = strings.Join(tool.Command, " ")
		case tool.Type == agent.ToolAgent:
			one.About = string(tool.Mode) + " " + tool.Agent
		}
		checked.Tools = append(checked.Tools, one)
	}
	return checked
}

func checkedApprovals(tool *agent.Tool) (all string, own map[string]string) {
	text := func(approval agent.Approval, never string) string {
		switch {
		case approval.Always:
			return "always"
		case approval.When != "":
			return "when " + approval.When
		default:
			return never
		}
	}
	for name, approval := range tool.Approvals {
		if own == nil {
			own = map[string]string{}
		}
		own[name] = text(approval, "never")
	}
	return text(tool.Approval, ""), own
}

func checkedPublish(d *agent.Definition) *CheckedPublish {
	if d.Publish == nil {
		return nil
	}
	checked := CheckedPublish{Name: cmp.Or(d.Publish.Name, d.Name)}
	for _, skill := range d.Publish.Skills {
		checked.Skills = append(checked.Skills, skill.ID)
	}
	return &checked
}

// checkedVariables are the variables that the agents refer to, by name.
func checkedVariables(definitions []*agent.Definition) []CheckedVariable {
	var all []CheckedVariable
	for _, d := range definitions {
		for _, reference := range d.References() {
			i := slices.IndexFunc(all, func(v CheckedVariable) bool { return v.Name == reference.Name })
			if i < 0 {
				_, set := os.LookupEnv(reference.Name)
				all, i = append(all, CheckedVariable{Name: reference.Name, Set: set}), len(all)
			}
			all[i].Used = append(all[i].Used, reference.Path)
		}
	}
	slices.SortFunc(all, func(a, b CheckedVariable) int { return strings.Compare(a.Name, b.Name) })
	return all
}
