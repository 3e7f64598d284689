package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

const promptOnly = `{"additionalProperties":false,"properties":{"prompt":{"description":"What the agent is to do, with ` +
	`everything that it has to know.","type":"string"}},"required":["prompt"],"type":"object"}`

func TestParseReadsAgentTools(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("f.yaml", []byte(`agents:
  lead:
    model: {provider: scripted, turns: [{text: hi}]}
    tools:
      - {type: agent, agent: researcher}
      - {name: ask, type: agent, agent: lead, mode: durable, description: Asks itself., maxRetries: 3,
         parameters: {type: object, properties: {prompt: {type: string}, depth: {type: integer}}},
         limits: {maxModelRequests: 4, deadline: 1h}, approval: always, sequential: true}
      - {name: sum_up, type: agent, agent: researcher, mode: ephemeral}
      - {name: quick, type: agent, agent: researcher, mode: ephemeral, timeout: 3s, recovery: read_only, onUnknown: fail}
  researcher:
    model: {provider: scripted, turns: [{text: hi}]}
`))
	require.NoError(t, err)
	definition, _ := catalog.Agent("lead")
	require.Equal(t, []agent.Tool{
		{
			Name: "agent_run_researcher", Type: agent.ToolAgent, Agent: "researcher", Mode: agent.Durable, Parameters: []byte(promptOnly),
			Recovery: agent.Idempotent, OnUnknown: agent.UnknownAsk, MaxRetries: 1,
		},
		{
			Name: "ask", Type: agent.ToolAgent, Agent: "lead", Mode: agent.Durable, Description: "Asks itself.",
			Parameters: []byte(`{"properties":{"depth":{"type":"integer"},"prompt":{"type":"string"}},"type":"object"}`),
			Recovery:   agent.Idempotent, OnUnknown: agent.UnknownAsk, MaxRetries: 3,
			Limits:   execution.Limits{MaxModelRequests: 4, Deadline: time.Hour},
			Approval: agent.Approval{Always: true}, Sequential: true,
		},
		{
			Name: "sum_up", Type: agent.ToolAgent, Agent: "researcher", Mode: agent.Ephemeral, Parameters: []byte(promptOnly),
			Timeout: agent.DefaultDelegateTimeout, Recovery: agent.Unsafe, OnUnknown: agent.UnknownAsk, MaxRetries: 1,
		},
		{
			Name: "quick", Type: agent.ToolAgent, Agent: "researcher", Mode: agent.Ephemeral, Parameters: []byte(promptOnly),
			Timeout: 3 * time.Second, Recovery: agent.ReadOnly, OnUnknown: agent.UnknownFail, MaxRetries: 1,
		},
	}, definition.Tools)
	decoded, err := agent.Decode(definition.Canonical())
	require.NoError(t, err)
	require.Equal(t, definition.Hash(), decoded.Hash())
	require.Equal(t, []string{"researcher", "lead"}, definition.Called())
}

func TestParseRefusesAgentTools(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	const at = "f.yaml:5: agents.demo.tools[0]"
	for name, c := range map[string]struct{ tool, want string }{
		"no agent":       {`{name: t, type: agent}`, at + ".agent: is required"},
		"unknown agent":  {`{name: t, type: agent, agent: nobody}`, at + `.agent: there is no agent "nobody" in this file`},
		"agent a number": {`{name: t, type: agent, agent: 1}`, at + ".agent: must be text, not a number"},
		"name too long":  {`{type: agent, agent: ` + long + `}`, at + ".name: is required: agent_run_" + long + " would be longer than 64 characters"},
		"mode":           {`{name: t, type: agent, agent: demo, mode: later}`, at + `.mode: must be one of ephemeral, durable, not "later"`},
		"parameters":     {`{name: t, type: agent, agent: demo, parameters: {type: object}}`, at + ".parameters: of an agent tool must declare the property prompt"},
		"limits":         {`{name: t, type: agent, agent: demo, limits: {turns: 1}}`, at + ".limits.turns: unknown key"},
		"timeout":        {`{name: t, type: agent, agent: demo, timeout: 1s}`, at + ".timeout: does not belong here: an execution of its own"},
		"recovery":       {`{name: t, type: agent, agent: demo, mode: ephemeral, recovery: reconcile}`, at + ".recovery: must be one of read_only, idempotent, unsafe"},
		"url":            {`{name: t, type: agent, agent: demo, url: "http://h"}`, at + ".url: does not belong here: an agent has none"},
		"expiry":         {`{name: t, type: agent, agent: demo, expiresAfter: 1h}`, at + ".expiresAfter: does not belong here: an agent has none"},
		"command":        {`{name: t, type: agent, agent: demo, command: [a]}`, at + ".command: does not belong here: only mcp tools have it"},
		"of another":     {`{name: t, type: human, mode: durable}`, at + ".mode: does not belong here: only agent tools have it"},
		"limits of http": {`{name: t, type: http, url: "http://h", limits: {maxTurns: 1}}`, at + ".limits: does not belong here: only agent tools have it"},
		"twice": {
			"{type: agent, agent: demo}\n      - {type: agent, agent: demo}",
			`f.yaml:6: agents.demo.tools[1].name: tool "agent_run_demo" is there twice; the first is tools[0]`,
		},
		"a server's": {
			"{type: agent, agent: demo}\n      - {name: agent, type: mcp, url: \"http://h\"}",
			at + `: is named agent_run_demo, which begins with "agent_", as the names of the tools of the mcp server agent do: give it a name`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, toolLines+"      - "+c.tool+"\n", c.want)
		})
	}
}

func TestParseWantsAgentsWhoseCostCanBeAddedUp(t *testing.T) {
	t.Parallel()
	const dollars, euros = "prices: {inputPer1M: 1, outputPer1M: 1}", "prices: {inputPer1M: 1, outputPer1M: 1, currency: EUR}"
	file := func(limits, first, second string) string {
		return "agents:\n  a:\n    model: {provider: scripted, turns: [{text: hi}], " + dollars + "}\n    limits: " + limits +
			"\n    tools: [{type: agent, agent: b}]\n  b:\n    model: {provider: scripted, turns: [{text: hi}], " + first +
			"}\n    tools: [{type: agent, agent: c}, {type: agent, agent: b, name: again}]\n  c:\n    model: {provider: scripted, turns: [{text: hi}]" + second + "}\n"
	}
	refused(t, file("{maxCost: 1}", dollars, ""),
		"f.yaml:5: agents.a.tools[0].agent: limits.maxCost of a needs the prices of every model that may be asked; agents.c.model has none")
	refused(t, file("{}", euros, ", "+dollars), "f.yaml:5: agents.a.tools[0].agent: the prices of a are in USD, those of b in EUR")
	_, err := agent.Parse("f.yaml", []byte(file("{maxCost: 1}", dollars, ", "+dollars)))
	require.NoError(t, err)
	_, err = agent.Parse("f.yaml", []byte(file("{}", dollars, "")))
	require.NoError(t, err)
}

func TestReachableListsEachAgentOnce(t *testing.T) {
	t.Parallel()
	of := func(name string, called ...string) *agent.Definition {
		d := &agent.Definition{Name: name}
		for _, c := range called {
			d.Tools = append(d.Tools, agent.Tool{Name: c, Type: agent.ToolAgent, Agent: c})
		}
		return d
	}
	all := map[string]*agent.Definition{
		"a": of("a", "b", "c", "b"), "b": of("b", "c", "gone"), "c": of("c", "b", "a"), "d": of("d"), "e": of("e", "d"),
	}
	find := func(name string) (*agent.Definition, bool) { d, ok := all[name]; return d, ok }
	names := func(d *agent.Definition) (out []string) {
		for _, reached := range d.Reachable(find) {
			out = append(out, reached.Name)
		}
		return out
	}
	require.Equal(t, []string{"b", "c", "a"}, names(all["a"]))
	require.Equal(t, []string{"d"}, names(all["e"]))
	require.Empty(t, names(all["d"]))
}
