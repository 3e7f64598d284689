package delegation

import (
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Allowed is what the executions of an installation may ask for.
type Allowed struct {
	// Audiences are the services that tokens may be made for. The first one is the default. None: a request names none.
	Audiences []string
	// Resources are the addresses that a request may name; none is the default.
	Resources []string
	// Scopes are what may be done. A request without scopes gets them all.
	Scopes []string
}

// Narrow is the request with the defaults filled in. It returns a *Refusal that names the field which asks for more.
func (a Allowed) Narrow(request execution.DelegationRequest) (execution.DelegationRequest, error) {
	if request.Audience == "" && len(a.Audiences) > 0 {
		request.Audience = a.Audiences[0]
	}
	if request.Audience != "" && !slices.Contains(a.Audiences, request.Audience) {
		return request, notAllowed("delegation.audience", "audience", "PAWL_DELEGATION_AUDIENCES", a.Audiences)
	}
	if request.Resource != "" && !slices.Contains(a.Resources, request.Resource) {
		return request, notAllowed("delegation.resource", "resource", "PAWL_DELEGATION_RESOURCES", a.Resources)
	}
	if len(request.Scopes) == 0 {
		request.Scopes = slices.Clone(a.Scopes)
	}
	for _, scope := range request.Scopes {
		if !slices.Contains(a.Scopes, scope) {
			return request, notAllowed("delegation.scopes", "scope", "PAWL_DELEGATION_SCOPES", a.Scopes)
		}
	}
	return request, nil
}

func notAllowed(field, what, setting string, allowed []string) error {
	if len(allowed) == 0 {
		return &Refusal{Field: field, Reason: "this installation allows no " + what + ": its operator has set no " + setting}
	}
	return &Refusal{Field: field, Reason: "this installation does not allow the " + what + "; allowed are: " +
		strings.Join(allowed, ", ")}
}
