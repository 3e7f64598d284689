package main

import (
	"github.com/spf13/pflag"

	"github.com/pawl-run/pawl/execution"
)

// delegated is what a submission asks for to act for whoever submits it.
type delegated struct {
	ask                bool
	audience, resource string
	scopes             []string
}

func (d *delegated) declare(flags *pflag.FlagSet) {
	flags.BoolVar(&d.ask, "delegate", false, "let the execution act for you in calls of tools that say auth: delegation; needs a token of\n"+
		"the identity provider in PAWL_API_KEY, unless the installation has a static one")
	flags.StringVar(&d.audience, "delegate-audience", "", "the service that its tokens are made for; implies --delegate")
	flags.StringVar(&d.resource, "delegate-resource", "", "the address of that service; implies --delegate")
	flags.StringArrayVar(&d.scopes, "delegate-scope", nil, "what it may do there; may be repeated; implies --delegate")
}

// request is nil when nothing was asked for.
func (d *delegated) request() *execution.DelegationRequest {
	if !d.ask && d.audience == "" && d.resource == "" && len(d.scopes) == 0 {
		return nil
	}
	return &execution.DelegationRequest{Audience: d.audience, Resource: d.resource, Scopes: d.scopes}
}

// delegationText says how long an execution may act for whoever submitted it.
func delegationText(d execution.DelegationView) string {
	switch {
	case d.Revoked:
		return "revoked"
	case d.ExpiresAtMs != 0:
		return "renewed until it ends; good until " + instant(d.ExpiresAtMs)
	default:
		return "until it ends"
	}
}
