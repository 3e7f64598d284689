package agent

import (
	"encoding/json"
	"strings"
	"time"
)

// DefaultDelegateTimeout is how long a call of an ephemeral agent may take when its tool does not say.
const DefaultDelegateTimeout = 5 * time.Minute

// delegatePrefix is what the name of a tool that runs an agent begins with when the file gives it none. It is the same as
// in backend.AgentToolName.
const delegatePrefix = "agent_run_"

// PromptArgument is the argument of an agent tool that says what the agent is to do.
const PromptArgument = "prompt"

// promptParameters are what an agent tool takes when its file does not say.
const promptParameters = `{"additionalProperties":false,"properties":{"prompt":{"description":"What the agent is to do, with ` +
	`everything that it has to know.","type":"string"}},"required":["prompt"],"type":"object"}`

// agentKeys are the keys that only agent tools have.
var agentKeys = []string{"agent", "mode", "limits"}

// parseToolName reads the name of a tool. One that runs an agent may go without.
func parseToolName(o *object) string {
	if kind := o.get("type"); !o.has("name") && kind != nil && kind.text == string(ToolAgent) {
		o.get("name")
		name := ""
		if called := o.get("agent"); called != nil && called.kind == stringNode && validName.MatchString(called.text) {
			name = delegatePrefix + called.text
		}
		if name != "" && !validName.MatchString(name) {
			o.bad("name", "is required: %s would be longer than 64 characters", name)
			return ""
		}
		return name
	}
	name, ok := o.required("name")
	if ok && !validName.MatchString(name) {
		o.bad("name", nameRule)
	}
	return name
}

// parseAgentTool reads a tool whose calls are runs of an agent of the same file.
func parseAgentTool(o *object, tool *Tool) {
	parseToolSpec(o, tool)
	tool.Agent, _ = o.required("agent")
	tool.Mode = DelegateMode(o.choice("mode", string(Durable), string(Ephemeral), string(Durable)))
	tool.Limits = parseLimits(o)
	switch {
	case tool.Parameters == nil:
		tool.Parameters = json.RawMessage(promptParameters)
	case !declaresProperty(tool.Parameters, PromptArgument):
		o.bad("parameters", "of an agent tool must declare the property prompt, which is what the agent is asked to do")
	}
	if tool.Mode == Ephemeral {
		tool.Timeout = o.duration("timeout", DefaultDelegateTimeout)
		tool.Recovery = Recovery(o.choice("recovery", string(Unsafe), string(ReadOnly), string(Idempotent), string(Unsafe)))
		tool.OnUnknown = parseOnUnknown(o)
	} else {
		tool.Recovery, tool.OnUnknown = Idempotent, UnknownAsk // it is started once, whoever asks for it
		o.refuseKeys("an execution of its own outlives every worker; limits.deadline bounds it", "timeout", "recovery", "onUnknown")
	}
	o.refuseKeys("an agent has none", "url", "headers", "probe", "expiresAfter", "onExpiry")
}

// declaresProperty reports whether the schema names the property.
func declaresProperty(parameters json.RawMessage, name string) bool {
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(parameters, &schema); err != nil {
		return false
	}
	_, ok := schema.Properties[name]
	return ok
}

// refuseUnnamed reports agent tools that got their names from their agents and whose names are others' already.
func refuseUnnamed(agent *object, at int, o *object, tools []Tool) {
	tool := &tools[at]
	if tool.Type != ToolAgent || tool.Name == "" || o.has("name") {
		return
	}
	for i := range tools {
		if tools[i].Type == ToolMCP && tools[i].Name != "" && strings.HasPrefix(tool.Name, tools[i].ToolPrefix()) {
			agent.add(o.node.line, o.path, "is named %s, which begins with %q, as the names of the tools of the mcp server %s do: give it a name",
				tool.Name, tools[i].ToolPrefix(), tools[i].Name)
		}
	}
}
