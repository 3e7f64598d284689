package agent

import (
	"strings"
	"time"
)

// The backends of this version.
const (
	BackendLocal = "local" // Pawl's own loop
	BackendA2A   = "a2a"   // an agent that speaks the A2A protocol
)

// The defaults of an endpoint.
const (
	DefaultEndpointTimeout = 5 * time.Minute
	DefaultRequestTimeout  = time.Minute
	DefaultPoll            = 10 * time.Second
	DefaultObserve         = 10 * time.Second
)

// Endpoint says where the agent of a remote backend is and how it is asked.
type Endpoint struct {
	URL    string        `json:"url"`              // may hold references
	Target string        `json:"target,omitempty"` // which agent of the remote: a path below URL
	Auth   *EndpointAuth `json:"auth,omitempty"`   // nil: nothing is sent
	// Timeout is how long the remote may take, from a message to the end of what it began or to a question.
	Timeout time.Duration `json:"timeout"`
	// RequestTimeout bounds one request.
	RequestTimeout time.Duration `json:"requestTimeout"`
	// Poll is the longest time between two looks at a task.
	Poll time.Duration `json:"poll"`
	// Stream watches a task for up to Observe at each look; a worker is held meanwhile.
	Stream  bool          `json:"stream,omitempty"`
	Observe time.Duration `json:"observe,omitempty"`
}

// EndpointAuth says how Pawl is known at a remote.
type EndpointAuth struct {
	Type AuthType `json:"type"`
	// Token is a `${NAME}` reference, never the token itself: definitions are stored.
	Token  string `json:"token"`
	Header string `json:"header,omitempty"` // of an api_key
}

// AuthType says how a token is sent.
type AuthType string

// The ways to send a token.
const (
	AuthBearer AuthType = "bearer"  // Authorization: Bearer …
	AuthAPIKey AuthType = "api_key" // in a header of the remote's choice
)

// Remote reports whether the agent is carried out elsewhere, by what its Endpoint names.
func (d *Definition) Remote() bool { return d.Endpoint != nil }

// Description is the endpoint in words, without secrets.
func (e *Endpoint) Description() string {
	parts := []string{"at " + e.URL}
	if e.Target != "" {
		parts = append(parts, "target "+e.Target)
	}
	if e.Auth != nil {
		parts = append(parts, "with "+string(e.Auth.Type)+" "+e.Auth.Token)
	}
	return strings.Join(parts, ", ")
}
