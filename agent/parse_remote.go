package agent

import (
	"net/textproto"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// maxObserve bounds how long a worker may be held for watching a remote task.
const maxObserve = time.Minute

// validTarget is a path of segments that mean themselves in every URL.
var validTarget = regexp.MustCompile(`^[A-Za-z0-9_~-][A-Za-z0-9._~-]*(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)*$`)

const maxTarget = 256

// remoteLimits are the limits that a remote agent has none of, because nobody says what it uses.
var remoteLimits = []string{"maxTurns", "maxModelRequests", "maxToolCalls", "maxInputTokens", "maxOutputTokens", "maxTotalTokens", "maxCost", "onExceeded"}

// parseRemoteAgent reads an agent that is carried out elsewhere.
func parseRemoteAgent(o *object, d *Definition) {
	d.Endpoint = parseEndpoint(o)
	d.Limits = parseRemoteLimits(o)
	d.Queue = parseQueue(o)
	d.Retention = parseRetention(o)
	o.refuseKeys("an agent of the backend "+d.Backend+" is elsewhere, and has its own",
		"model", "instructions", "tools", "outputSchema", "outputRetries", "results")
	o.refuseUnknown(laterAgentKeys...)
}

// parseEndpoint reads where the agent is. It is never nil, so that the definition is one of a remote agent.
func parseEndpoint(agent *object) *Endpoint {
	endpoint := &Endpoint{}
	if !agent.has("endpoint") {
		agent.bad("endpoint", "is required by backend: a2a")
	}
	o := agent.child("endpoint")
	if o == nil {
		return endpoint
	}
	endpoint.URL = o.address("url")
	if !hasReference(endpoint.URL) && strings.Contains(endpoint.URL, "?") {
		o.bad("url", "must not have a ? part")
	}
	endpoint.Target = parseTarget(o)
	endpoint.Auth = parseEndpointAuth(o)
	endpoint.Timeout = o.duration("timeout", DefaultEndpointTimeout)
	endpoint.RequestTimeout = o.duration("requestTimeout", DefaultRequestTimeout)
	endpoint.Poll = o.duration("poll", DefaultPoll)
	if endpoint.Stream = o.truth("stream"); endpoint.Stream {
		endpoint.Observe = o.duration("observe", DefaultObserve)
		if endpoint.Observe > maxObserve {
			o.bad("observe", "must be at most %v: a worker is held meanwhile", maxObserve)
		}
	} else {
		o.refuseKeys("it is how long stream: true watches", "observe")
	}
	o.refuseUnknown()
	return endpoint
}

func parseTarget(o *object) string {
	target, ok := o.text("target")
	if ok && (len(target) > maxTarget || !validTarget.MatchString(target)) {
		o.bad("target", "must be 1 to %d characters of A-Z a-z 0-9 . _ ~ -, with / between parts that do not begin with a dot", maxTarget)
	}
	return target
}

func parseEndpointAuth(endpoint *object) *EndpointAuth {
	o := endpoint.child("auth")
	if o == nil {
		return nil
	}
	kind, _ := o.required("type")
	auth := &EndpointAuth{Type: AuthType(kind)}
	if o.has("type") && auth.Type != AuthBearer && auth.Type != AuthAPIKey {
		o.bad("type", "must be one of %s, %s, not %q", AuthBearer, AuthAPIKey, kind)
	}
	token, ok := o.required("token")
	if ok && !wholeReference.MatchString(token) { // the text is never shown: it may be the token
		o.bad("token", "must be a reference such as ${AGENT_TOKEN}: agent files and definitions are stored")
		token = ""
	}
	auth.Token = token
	if auth.Type != AuthAPIKey {
		o.refuseKeys("only type: api_key has it", "header")
		o.refuseUnknown()
		return auth
	}
	if header, ok := o.required("header"); ok {
		switch {
		case !headerName.MatchString(header):
			o.bad("header", "is not a header's name")
		case slices.Contains(ownHeaders, textproto.CanonicalMIMEHeaderKey(header)):
			o.bad("header", "is set by Pawl")
		}
		auth.Header = header
	}
	o.refuseUnknown()
	return auth
}

// parseRemoteLimits reads what is known of a remote run: how long it takes.
func parseRemoteLimits(agent *object) execution.Limits {
	o := agent.child("limits")
	if o == nil {
		return execution.Limits{}
	}
	limits := execution.Limits{Deadline: o.millis("deadline")}
	o.refuseKeys("a remote agent does not tell what it uses", remoteLimits...)
	o.refuseUnknown()
	return limits
}

// TakesLimits refuses limits that nobody could keep for an agent of this definition: of a remote one only time is known.
// An error is an *OverrideError.
func (d *Definition) TakesLimits(limits execution.Limits) error {
	if !d.Remote() {
		return nil
	}
	for _, limit := range []struct {
		name  string
		given bool
	}{
		{"maxTurns", limits.MaxTurns != 0},
		{"maxModelRequests", limits.MaxModelRequests != 0},
		{"maxToolCalls", limits.MaxToolCalls != 0},
		{"maxInputTokens", limits.MaxInputTokens != 0},
		{"maxOutputTokens", limits.MaxOutputTokens != 0},
		{"maxTotalTokens", limits.MaxTotalTokens != 0},
		{"maxCost", limits.MaxCost != 0},
		{"suspendOnExceeded", limits.SuspendOnExceeded},
	} {
		if limit.given {
			return refuse("limits."+limit.name, "the agent is remote and does not tell what it uses; only deadlineMs holds")
		}
	}
	return nil
}

// refuseRemote is why a remote agent takes none of the overrides.
func refuseRemote(o execution.Overrides) error {
	for _, field := range []struct {
		name  string
		given bool
	}{
		{"model", o.Model != ""},
		{"instructions", o.Instructions != ""},
		{"generation", o.Generation != nil},
		{"outputSchema", len(o.OutputSchema) > 0},
		{"frontendTools", len(o.FrontendTools) > 0},
	} {
		if field.given {
			return refuse(field.name, "the agent is remote: it takes none")
		}
	}
	return nil
}
