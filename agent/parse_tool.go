package agent

import (
	"net/textproto"
	"net/url"
	"regexp"
	"slices"
	"time"
)

// DefaultToolTimeout is the timeout of an http tool that names none.
const DefaultToolTimeout = 60 * time.Second

const nameRule = "a tool's name has 1 to 64 characters of A-Z a-z 0-9 _ -"

// laterToolKeys are keys of a tool that this version knows of and does not have.
var laterToolKeys = []string{"durability"}

// mcpKeys are the keys that only mcp tools have.
var mcpKeys = []string{"command", "env", "allow", "trustHints", "approvals"}

var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// ownHeaders are set by the http tool itself.
var ownHeaders = []string{
	"Idempotency-Key", "Content-Type", "Content-Length", "Host", "Connection", "Transfer-Encoding", "Trailer", "Te", "Upgrade",
	"User-Agent",
}

func parseTools(agent *object) []Tool {
	items := agent.list("tools")
	tools := make([]Tool, 0, len(items))
	objects := make([]*object, 0, len(items))
	first := map[string]int{}
	for i, item := range items {
		o := objectAt(agent.problems, item, agent.item("tools", i))
		if o == nil {
			continue
		}
		objects = append(objects, o)
		tool := parseTool(o)
		if at, twice := first[tool.Name]; twice {
			o.bad("name", "tool %q is there twice; the first is tools[%d]", tool.Name, at)
		} else if tool.Name != "" {
			first[tool.Name] = i
		}
		tools = append(tools, tool)
	}
	refusePrefixed(agent, items, tools)
	for i, o := range objects {
		refuseUnnamed(agent, i, o, tools)
	}
	if len(tools) == 0 {
		return nil
	}
	return tools
}

func parseTool(o *object) Tool {
	tool := Tool{Name: parseToolName(o)}
	value, ok := o.required("type")
	tool.Type = ToolType(value)
	switch {
	case !ok:
		return tool
	case !slices.Contains(toolTypes(), tool.Type):
		o.bad("type", "must be one of http, mcp, human, agent, client, not %q", value)
		return tool
	}
	switch tool.Type {
	case ToolMCP:
		parseMCPTool(o, &tool)
	case ToolHTTP:
		parseToolSpec(o, &tool)
		parseHTTPTool(o, &tool)
	case ToolHuman:
		parseToolSpec(o, &tool)
		parseHumanTool(o, &tool)
	case ToolClient:
		parseToolSpec(o, &tool)
		parseClientTool(o, &tool)
	case ToolAgent:
		parseAgentTool(o, &tool)
	}
	if tool.Type == ToolHuman {
		o.refuseKeys("a person is asked anyway", "approval", "sequential")
	} else {
		tool.Approval = parseApproval(o, "approval")
		tool.Sequential = o.truth("sequential")
	}
	refuseOtherTypes(o, tool.Type)
	o.refuseUnknown(laterToolKeys...)
	return tool
}

// refuseOtherTypes reports the keys that only tools of other types have.
func refuseOtherTypes(o *object, own ToolType) {
	for _, other := range []struct {
		kind ToolType
		keys []string
	}{{ToolAgent, agentKeys}, {ToolMCP, mcpKeys}} {
		if other.kind != own {
			o.refuseKeys("only "+string(other.kind)+" tools have it", other.keys...)
		}
	}
	if own != ToolHTTP && own != ToolMCP {
		o.refuseKeys("only http and mcp tools have it", "auth")
	}
}

// parseOnUnknown reads what follows when nobody knows whether a call was carried out.
func parseOnUnknown(o *object) OnUnknown {
	return OnUnknown(o.choice("onUnknown", string(UnknownAsk), string(UnknownAsk), string(UnknownFail), string(UnknownTellModel)))
}

// parseToolSpec reads what every type has.
func parseToolSpec(o *object, tool *Tool) {
	tool.Description, _ = o.text("description")
	tool.Parameters = o.schema("parameters", true)
	tool.MaxRetries = o.small("maxRetries", 1)
}

func parseHTTPTool(o *object, tool *Tool) {
	tool.URL = o.address("url")
	tool.Headers = parseHeaders(o)
	parseAuth(o, tool)
	tool.Timeout = o.duration("timeout", DefaultToolTimeout)
	tool.Recovery = Recovery(o.choice("recovery", string(Unsafe),
		string(ReadOnly), string(Idempotent), string(Reconcile), string(Unsafe)))
	tool.OnUnknown = parseOnUnknown(o)
	if probe := o.child("probe"); probe != nil {
		tool.Probe = &Probe{URL: probe.address("url")}
		probe.refuseUnknown("headers", "timeout")
	}
	switch {
	case tool.Recovery == Reconcile && !o.has("probe"):
		o.bad("probe", "is required by recovery: reconcile")
	case tool.Recovery != Reconcile && o.has("probe"):
		o.bad("probe", "is only used with recovery: reconcile")
	}
	parseExpiry(o, tool) // of a result that comes later
}

// parseExpiry reads how long the tool's questions wait, and what follows.
func parseExpiry(o *object, tool *Tool) {
	tool.ExpiresAfter, tool.OnExpiry = parseWait(o)
}

func parseHumanTool(o *object, tool *Tool) {
	parseExpiry(o, tool)
	if tool.Parameters != nil && !declaresProperty(tool.Parameters, "question") {
		o.bad("parameters", "of a human tool must declare the property question, which is what the person reads")
	}
	o.refuseKeys("a human tool has none", "url", "headers", "probe", "timeout", "recovery", "onUnknown")
}

// parseClientTool reads a tool that the application carries out.
func parseClientTool(o *object, tool *Tool) {
	tool.Recovery, tool.OnUnknown = ReadOnly, UnknownAsk // to ask for a result has no effect
	parseExpiry(o, tool)
	o.refuseKeys("a client tool has none", "url", "headers", "probe", "timeout", "recovery", "onUnknown")
}

// refuseKeys reports keys that exist but not for this type of tool.
func (o *object) refuseKeys(why string, keys ...string) {
	for _, key := range keys {
		if o.has(key) {
			o.bad(key, "does not belong here: %s", why)
		}
		o.asked[key] = false
	}
}

// address is an absolute http or https URL. With a reference in it, it can only be checked when it is resolved. The text
// is never shown: it may hold a credential.
func (o *object) address(key string) string {
	value, ok := o.required(key)
	if !ok {
		return ""
	}
	if hasReference(value) {
		if err := checkReferences(value); err != nil {
			o.bad(key, "%s", err)
		}
		return value
	}
	if problem := CheckURL(value); problem != "" {
		o.bad(key, "%s", problem)
	}
	return value
}

// CheckURL says what is wrong with the address of a tool, empty when it may be called. It never shows the address.
func CheckURL(value string) string {
	u, err := url.Parse(value)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "must be an absolute http or https URL"
	case u.User != nil:
		return "must not hold a user or password; use headers with a ${NAME} reference"
	case u.Fragment != "":
		return "must not have a # part"
	}
	return ""
}

func parseHeaders(tool *object) map[string]string {
	o := tool.child("headers")
	if o == nil || len(o.node.entries) == 0 {
		return nil
	}
	headers := make(map[string]string, len(o.node.entries))
	seen := map[string]bool{}
	for _, e := range o.node.entries {
		canonical := textproto.CanonicalMIMEHeaderKey(e.key)
		switch {
		case !headerName.MatchString(e.key):
			o.bad(e.key, "is not a header's name")
		case slices.Contains(ownHeaders, canonical):
			o.bad(e.key, "is set by Pawl")
		case seen[canonical]:
			o.bad(e.key, "is there twice; case does not matter in a header's name")
		}
		seen[canonical] = true
		value, ok := o.text(e.key)
		if !ok {
			continue
		}
		if err := checkReferences(value); err != nil {
			o.bad(e.key, "%s", err)
		} else if !ValidHeaderValue(value) {
			o.bad(e.key, "must not hold line breaks or control characters")
		}
		headers[e.key] = value
	}
	return headers
}

// ValidHeaderValue reports whether value may be sent as a header's value.
func ValidHeaderValue(value string) bool {
	for i := range len(value) {
		if c := value[i]; (c < ' ' && c != '\t') || c == 0x7f {
			return false
		}
	}
	return true
}
