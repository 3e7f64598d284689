package mcptool

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// maxNamed bounds how many names an error lists.
const maxNamed = 30

// Set is the tools that one declaration gives an agent.
type Set struct {
	server   *server
	declared agent.Tool
	cfg      Config
}

var _ local.ToolSet = (*Set)(nil)

// Spec stands for the set; no model is told of it.
func (s *Set) Spec() local.ToolSpec { return setSpec(s.declared) }

func setSpec(declared agent.Tool) local.ToolSpec {
	return local.ToolSpec{Name: declared.Name, Delegated: declared.Auth == agent.AuthDelegation}
}

// Call refuses: a set is not called, its tools are.
func (s *Set) Call(context.Context, local.Invocation, local.Sink) (local.Answer, error) {
	return local.Answer{}, notCalled(s.declared)
}

func notCalled(declared agent.Tool) error {
	return &local.Error{
		Kind: local.Permanent, Code: "mcp_set", Message: fmt.Sprintf("%s is an MCP server and not a tool", declared.Name),
	}
}

// Tools are the tools as the server listed them last. Only when it never did, Tools waits for it, and fails when it
// cannot be asked or lacks a tool that the declaration names.
func (s *Set) Tools(ctx context.Context) ([]local.Tool, error) {
	listed, known := s.server.known()
	if s.server.own != nil { // else a server that takes anybody would show its tools
		if _, err := s.server.own.tokens.now(ctx, false); err != nil {
			return s.withoutToken(err)
		}
	}
	if !known {
		used, err := s.server.acquire(ctx)
		if err != nil {
			return s.withoutToken(err)
		}
		s.server.release(used)
		listed, _ = s.server.known()
	}
	s.server.wake() //nolint:contextcheck // a session outlives who needs it first
	if err := s.missing(listed); err != nil {
		return nil, err
	}
	tools := make([]local.Tool, 0, len(listed))
	for _, tool := range listed {
		if s.allows(tool.Name) {
			tools = append(tools, s.tool(tool))
		}
	}
	return tools, nil
}

// Find is the tool of this name. Of a server that was not asked yet, it is one that asks at its call.
func (s *Set) Find(name string) local.Tool {
	if !strings.HasPrefix(name, s.declared.ToolPrefix()) {
		return nil
	}
	listed, known := s.server.known()
	if !known {
		return s.unlisted(name)
	}
	if tool := s.find(listed, name); tool != nil {
		return s.tool(tool)
	}
	return nil
}

func (s *Set) find(listed []*mcp.Tool, name string) *mcp.Tool {
	for _, tool := range listed {
		if s.allows(tool.Name) && s.declared.Served(tool.Name) == name {
			return tool
		}
	}
	return nil
}

func (s *Set) allows(name string) bool {
	return len(s.declared.Allow) == 0 || slices.Contains(s.declared.Allow, name)
}

// unlisted is a tool of which only the declaration is known.
func (s *Set) unlisted(name string) *Tool {
	t := &Tool{set: s, spec: s.spec(name)}
	t.spec.Recovery = agent.Unsafe
	if s.declared.Recovery != "" {
		t.spec.Recovery = s.declared.Recovery
	}
	for own, recovery := range s.declared.Recoveries {
		if s.declared.Served(own) == name {
			t.spec.Recovery = recovery
		}
	}
	return t
}

func (s *Set) tool(listed *mcp.Tool) *Tool {
	t := &Tool{set: s, own: listed.Name, spec: s.spec(s.declared.Served(listed.Name))}
	t.spec.Description = listed.Description
	t.spec.Parameters = parameters(listed)
	t.spec.Recovery = s.recovery(listed)
	return t
}

func (s *Set) spec(name string) local.ToolSpec {
	return local.ToolSpec{
		Name: name, Timeout: s.declared.Timeout, OnUnknown: s.declared.OnUnknown, MaxRetries: s.declared.MaxRetries,
		Approval: s.approval(name), Sequential: s.declared.Sequential, Delegated: s.declared.Auth == agent.AuthDelegation,
	}
}

// approval is what the declaration says of the tool, else of all. It is known before the server was asked.
func (s *Set) approval(name string) agent.Approval {
	for own, approval := range s.declared.Approvals {
		if s.declared.Served(own) == name {
			return approval
		}
	}
	return s.declared.Approval
}

// recovery is the class of a tool: what the declaration says of it, else of all, else the hints if they are trusted.
func (s *Set) recovery(listed *mcp.Tool) agent.Recovery {
	if class, ok := s.declared.Recoveries[listed.Name]; ok {
		return class
	}
	switch hints := listed.Annotations; {
	case s.declared.Recovery != "":
		return s.declared.Recovery
	case !s.declared.TrustHints || hints == nil:
		return agent.Unsafe
	case hints.ReadOnlyHint:
		return agent.ReadOnly
	case hints.IdempotentHint:
		return agent.Idempotent
	default:
		return agent.Unsafe
	}
}

// missing reports the tools that the declaration names and the server does not have.
func (s *Set) missing(listed []*mcp.Tool) error {
	has := make([]string, 0, len(listed))
	for _, tool := range listed {
		has = append(has, tool.Name)
	}
	wanted := slices.Clone(s.declared.Allow)
	wanted = slices.AppendSeq(wanted, maps.Keys(s.declared.Recoveries))
	wanted = slices.AppendSeq(wanted, maps.Keys(s.declared.Approvals))
	wanted = slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(has, name) })
	if len(wanted) == 0 {
		return nil
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	slices.Sort(has)
	return &local.Error{Kind: local.Permanent, Code: "mcp_unknown_tool", Message: fmt.Sprintf(
		"the MCP server of %s has no tool %s; it has %s", s.declared.Name, named(wanted), named(has),
	)}
}

func named(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	more := ""
	if left := len(names) - maxNamed; left > 0 {
		names, more = names[:maxNamed], fmt.Sprintf(" and %d more", left)
	}
	return strings.Join(names, ", ") + more
}

// parameters is the schema of the arguments; any object when the server's is no schema of one, which it then checks itself.
func parameters(listed *mcp.Tool) json.RawMessage {
	schema, err := json.Marshal(listed.InputSchema)
	if err == nil {
		_, err = agent.CompileSchema(schema)
	}
	object, _ := listed.InputSchema.(map[string]any)
	if declared, _ := object["type"].(string); err != nil || declared != "object" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return schema
}
