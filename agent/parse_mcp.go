package agent

import (
	"slices"
	"strings"
)

// maxServerName bounds the name of an mcp tool: the names of its server's tools begin with it.
const maxServerName = 32

// ToolPrefix is what the names of an mcp server's tools begin with.
func (t *Tool) ToolPrefix() string { return t.Name + "_" }

// parseMCPTool reads a server, which says itself what its tools are for and what arguments they take.
func parseMCPTool(o *object, tool *Tool) {
	if len(tool.Name) > maxServerName {
		o.bad("name", "of an mcp tool has at most %d characters, because the names of its server's tools begin with it", maxServerName)
	}
	switch {
	case o.has("command") && o.has("url"):
		o.bad("command", "and url exclude each other: an mcp server is either started or reached over HTTP")
	case o.has("command"):
		tool.Command = parseCommand(o)
		tool.Env = parseEnv(o)
		o.refuseKeys("a server that is started has none", "url", "headers")
		o.refuseKeys("a server that is started is not given tokens; only one that is reached by url is", "auth")
	case o.has("url"):
		tool.URL = o.address("url")
		tool.Headers = parseHeaders(o)
		parseAuth(o, tool)
		o.refuseKeys("only a server that is started has it", "command", "env")
	default:
		o.get("command")
		o.bad("command", "or url is required: how the mcp server is started, or where it is")
		o.refuseKeys("it needs command or url", "url", "headers", "env", "auth")
	}
	tool.Timeout = o.duration("timeout", DefaultToolTimeout)
	tool.MaxRetries = o.small("maxRetries", 1)
	tool.OnUnknown = parseOnUnknown(o)
	tool.Allow = parseAllow(o)
	tool.TrustHints = o.truth("trustHints")
	parseRecoveries(o, tool)
	parseApprovals(o, tool)
	o.refuseKeys("an mcp server says it itself", "description", "parameters")
	o.refuseKeys("mcp tools have no status probe", "probe")
	parseExpiry(o, tool)
}

// parseCommand reads the program and its arguments.
func parseCommand(o *object) []string {
	items := o.list("command")
	if items != nil && len(items) == 0 {
		o.bad("command", "must name a program")
	}
	command := make([]string, 0, len(items))
	for i, item := range items {
		path := o.item("command", i)
		switch {
		case item.kind != stringNode:
			o.add(item.line, path, "must be text, not %s; put it in quotes", item.kind)
		case i == 0 && strings.TrimSpace(item.text) == "":
			o.add(item.line, path, "must name a program")
		case strings.ContainsRune(item.text, 0):
			o.add(item.line, path, "must not hold a zero byte")
		case hasReference(item.text):
			o.add(item.line, path, "must not hold a reference: everybody on the machine can read a command; use env")
		}
		command = append(command, item.text)
	}
	return command
}

// parseEnv reads the variables of a started server. Values may hold references.
func parseEnv(tool *object) map[string]string {
	o := tool.child("env")
	if o == nil || len(o.node.entries) == 0 {
		return nil
	}
	env := make(map[string]string, len(o.node.entries))
	for _, e := range o.node.entries {
		if !variableName.MatchString(e.key) {
			o.bad(e.key, "is not a variable's name: want letters, digits and _")
		}
		value, ok := o.text(e.key)
		if !ok {
			continue
		}
		if err := checkReferences(value); err != nil {
			o.bad(e.key, "%s", err)
		} else if strings.ContainsRune(value, 0) {
			o.bad(e.key, "must not hold a zero byte")
		}
		env[e.key] = value
	}
	return env
}

// parseAllow reads the server's own names of the tools to take.
func parseAllow(o *object) []string {
	items := o.list("allow")
	if items != nil && len(items) == 0 {
		o.bad("allow", "must name a tool; without the key the agent gets all of them")
	}
	var allow []string
	for i, item := range items {
		path := o.item("allow", i)
		switch {
		case item.kind != stringNode:
			o.add(item.line, path, "must be text, not %s; put it in quotes", item.kind)
		case item.text == "":
			o.add(item.line, path, "must not be empty")
		case slices.Contains(allow, item.text):
			o.add(item.line, path, "%q is there twice", item.text)
		default:
			allow = append(allow, item.text)
		}
	}
	return allow
}

// parseRecoveries reads one class for all tools, or one for each of those that are named.
func parseRecoveries(o *object, tool *Tool) {
	classes := []string{string(ReadOnly), string(Idempotent), string(Unsafe)}
	n := o.get("recovery")
	if n == nil {
		return
	}
	if n.kind != mapNode {
		if n.kind == stringNode && n.text == string(Reconcile) {
			o.bad("recovery", "reconcile needs a status probe, which mcp tools do not have")
			return
		}
		tool.Recovery = Recovery(o.choice("recovery", "", classes...))
		return
	}
	named := o.child("recovery")
	for _, e := range n.entries {
		if tool.Allow != nil && !slices.Contains(tool.Allow, e.key) {
			named.bad(e.key, "is not among the tools that allow names")
		}
		if tool.Recoveries == nil {
			tool.Recoveries = map[string]Recovery{}
		}
		tool.Recoveries[e.key] = Recovery(named.choice(e.key, string(Unsafe), classes...))
	}
}

// refusePrefixed reports tools whose names might be those of a server's tools.
func refusePrefixed(agent *object, items []*node, tools []Tool) {
	for i := range tools {
		if tools[i].Type != ToolMCP || tools[i].Name == "" {
			continue
		}
		prefix := tools[i].ToolPrefix()
		for j, item := range items {
			if item.kind != mapNode {
				continue
			}
			for _, e := range item.entries {
				if e.key == "name" && e.value.kind == stringNode && strings.HasPrefix(e.value.text, prefix) {
					agent.add(e.value.line, agent.item("tools", j)+".name",
						"%q begins with %q, which the names of the tools of the mcp server %s begin with", e.value.text, prefix, tools[i].Name)
				}
			}
		}
	}
}
