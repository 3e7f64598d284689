package agent

import (
	"slices"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/expression"
)

// The words of an approval without further keys.
const (
	approvalNever  = "never"
	approvalAlways = "always"
)

// parseApproval reads which calls must be approved: never, always, or a mapping of when, expiresAfter and onExpiry, in
// which every call is meant when there is no when.
func parseApproval(o *object, key string) Approval {
	n := o.get(key)
	switch {
	case n == nil:
		return Approval{}
	case n.kind != mapNode:
		return Approval{Always: o.choice(key, approvalNever, approvalNever, approvalAlways) == approvalAlways}
	}
	rule := o.child(key)
	approval := Approval{Always: !rule.has("when")}
	if when, ok := rule.text("when"); ok {
		approval.When = when
		if _, err := expression.Compile(when); err != nil {
			rule.bad("when", "%s", err)
		}
	}
	approval.ExpiresAfter, approval.OnExpiry = parseWait(rule)
	rule.refuseUnknown()
	return approval
}

// parseApprovals reads the approvals of an mcp server's tools that are not those of the others.
func parseApprovals(o *object, tool *Tool) {
	named := o.child("approvals")
	if named == nil {
		return
	}
	for _, e := range named.node.entries {
		if tool.Allow != nil && !slices.Contains(tool.Allow, e.key) {
			named.bad(e.key, "is not among the tools that allow names")
		}
		if tool.Approvals == nil {
			tool.Approvals = map[string]Approval{}
		}
		tool.Approvals[e.key] = parseApproval(named, e.key)
	}
}

// parseWait reads how long a question waits, and what follows when nobody answers.
func parseWait(o *object) (time.Duration, execution.OnExpiry) {
	after := o.millis("expiresAfter")
	expiry := o.choice("onExpiry", "",
		string(execution.ExpireReject), string(execution.ExpireFail), string(execution.ExpireSuspend))
	switch {
	case expiry != "" && !o.has("expiresAfter"):
		o.bad("onExpiry", "is only used with expiresAfter")
	case expiry == "" && after > 0:
		expiry = string(execution.ExpireReject)
	}
	return after, execution.OnExpiry(expiry)
}

// ApprovalOf is the approval of the server's tool of that name.
func (t *Tool) ApprovalOf(name string) Approval {
	if own, ok := t.Approvals[name]; ok {
		return own
	}
	return t.Approval
}
