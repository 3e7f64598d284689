package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// maxToolName is the longest name of a tool that models take.
const maxToolName = 64

// Served is the name under which a model knows the tool of an mcp server that the server itself calls own. Names that models
// do not take, and long ones, are changed, and end with a hash of what they were.
func (t *Tool) Served(own string) string {
	plain := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, own)
	full := t.ToolPrefix() + plain
	if plain == own && own != "" && len(full) <= maxToolName {
		return full
	}
	sum := sha256.Sum256([]byte(t.ToolPrefix() + own))
	suffix := "_" + hex.EncodeToString(sum[:4])
	return full[:min(len(full), maxToolName-len(suffix))] + suffix
}

// RecoveryOf is the recovery class of the tool that a model knows under the name. It is empty when the definition does not
// say it: there is no such tool, or its class is up to the hints of its mcp server.
func (d *Definition) RecoveryOf(name string) Recovery {
	for i := range d.Tools {
		tool := &d.Tools[i]
		switch {
		case tool.Type == ToolMCP && strings.HasPrefix(name, tool.ToolPrefix()):
			return tool.recoveryOfServed(name)
		case tool.Type == ToolMCP || tool.Name != name:
		case tool.Type == ToolHuman, tool.Type == ToolClient:
			return ReadOnly // to ask has no effect
		case tool.Recovery == "":
			return Unsafe
		default:
			return tool.Recovery
		}
	}
	return ""
}

// recoveryOfServed is that of a tool of the server, as far as the declaration says it.
func (t *Tool) recoveryOfServed(name string) Recovery {
	is := func(own string) bool { return t.Served(own) == name }
	if len(t.Allow) > 0 && !slices.ContainsFunc(t.Allow, is) {
		return ""
	}
	for own, class := range t.Recoveries {
		if is(own) {
			return class
		}
	}
	if t.Recovery == "" && !t.TrustHints {
		return Unsafe
	}
	return t.Recovery
}
