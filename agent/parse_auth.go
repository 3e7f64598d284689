package agent

import "strings"

// AuthDelegation is the auth of a tool whose calls carry a token of the execution's delegation.
const AuthDelegation = "delegation"

// parseAuth reads how the tool's calls are known to its server, beside its headers.
func parseAuth(o *object, tool *Tool) {
	if tool.Auth = o.choice("auth", "", AuthDelegation); tool.Auth == "" {
		return
	}
	for name := range tool.Headers {
		if strings.EqualFold(name, "Authorization") {
			o.bad("auth", "the header Authorization is set as well; a call carries one of them")
		}
	}
}
