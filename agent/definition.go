package agent

import (
	"encoding/json"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// Definition is one agent as its file declares it, `${NAME}` references unresolved. It is immutable; its hash names it.
type Definition struct {
	Name         string           `json:"name"`
	Backend      string           `json:"backend"`        // local or a2a
	Model        Model            `json:"model,omitzero"` // of local agents
	Instructions string           `json:"instructions,omitempty"`
	Tools        []Tool           `json:"tools,omitempty"`
	Limits       execution.Limits `json:"limits,omitzero"`
	OutputSchema json.RawMessage  `json:"outputSchema,omitempty"`
	// OutputRetries is how often the model may correct an answer that does not fit the schema; 1 by default.
	OutputRetries int    `json:"outputRetries"`
	Queue         string `json:"queue,omitempty"` // base queue in place of the priority's
	// Retention is how long executions are kept after their end unless they say otherwise; 0: the installation's.
	Retention time.Duration `json:"retention,omitempty"`
	// Results say what becomes of large tool results.
	Results Results `json:"results,omitzero"`
	// Endpoint is where a remote agent is; nil for a local one. A remote agent has no model, instructions, tools or schema.
	Endpoint *Endpoint `json:"endpoint,omitempty"`
	// Publish says how the agent is shown to the agents of others; nil: it is not.
	Publish *Publish `json:"-"`
}

// Results say what becomes of a tool result of more than Limit bytes; 256 KiB by default.
type Results struct {
	Over  OverLimit `json:"over,omitempty"`
	Limit int64     `json:"limit,omitempty"`
}

// DefaultResultLimit is how many bytes of a tool result are taken as they are when the agent's file does not say.
const DefaultResultLimit = 256 << 10

// WithDefaults fills in what is not set.
func (r Results) WithDefaults() Results {
	if r.Over == "" {
		r.Over = OverRefuse
	}
	if r.Limit == 0 {
		r.Limit = DefaultResultLimit
	}
	return r
}

// OverLimit is what becomes of a tool result that is too large.
type OverLimit string

// The choices for a result that is too large. Refuse is the default.
const (
	OverRefuse   OverLimit = "refuse"   // the execution fails, naming tool, size and limit
	OverTruncate OverLimit = "truncate" // the model gets head and tail
	OverStore    OverLimit = "store"    // the model gets head, tail and a reference; the whole is stored beside the execution
)

// Model says which model an agent talks to. Turns belong to the scripted model, what follows Timeout to the others.
type Model struct {
	Provider string         `json:"provider"` // openai, anthropic or scripted
	Turns    []ScriptedTurn `json:"turns,omitempty"`
	// Timeout is how long the model may take to begin its answer; for the scripted model, to give it.
	Timeout time.Duration `json:"timeout,omitempty"`
	Name    string        `json:"name,omitempty"`    // the provider's name of the model
	BaseURL string        `json:"baseURL,omitempty"` // of a compatible server; the provider's own by default
	// APIKey is a `${NAME}` reference, never the key itself: definitions are stored. Empty: none is sent.
	APIKey          string   `json:"apiKey,omitempty"`
	MaxOutputTokens int64    `json:"maxOutputTokens,omitempty"` // of one answer; 0: the provider's default
	Temperature     *float64 `json:"temperature,omitempty"`
	TopP            *float64 `json:"topP,omitempty"`
	// StructuredOutput says how the model is told of the agent's OutputSchema; StructuredSchema by default.
	StructuredOutput StructuredOutput `json:"structuredOutput,omitempty"`
	// Prices turn usage into money; nil: it costs nothing that Pawl knows of.
	Prices *Prices `json:"prices,omitempty"`
	// Fallback are the models asked, in order, when this one fails for a reason that may pass.
	Fallback []Model `json:"fallback,omitempty"`
	// NoImages says that the model takes text only.
	NoImages bool `json:"noImages,omitempty"`
	// ThinkingTokens is how many tokens a model of provider anthropic may think for before it answers; 0: it does not.
	ThinkingTokens int64 `json:"thinkingTokens,omitempty"`
}

// Prices are what a model costs, in millionths of the currency per million tokens. CachedInput is the price of input
// tokens read from the provider's cache, that of all others when it is 0.
type Prices struct {
	InputPer1M       int64  `json:"inputPer1M"`
	OutputPer1M      int64  `json:"outputPer1M"`
	CachedInputPer1M int64  `json:"cachedInputPer1M,omitempty"`
	Currency         string `json:"currency,omitempty"`
}

// StructuredOutput says how a model is told of the schema of its answer.
type StructuredOutput string

// The ways to tell a model of a schema.
const (
	StructuredSchema StructuredOutput = "schema" // the provider enforces it
	StructuredJSON   StructuredOutput = "json"   // the provider enforces JSON, the instructions hold the schema
	StructuredOff    StructuredOutput = "off"    // the instructions hold the schema
	StructuredTool   StructuredOutput = "tool"   // the model answers by calling an output function
)

// ScriptedTurn is what the scripted model answers to one request. The last turn repeats.
type ScriptedTurn struct {
	Delay     time.Duration      `json:"delay,omitempty"`
	Text      string             `json:"text,omitempty"`
	ToolCalls []ScriptedToolCall `json:"toolCalls,omitempty"`
	Error     *ScriptedError     `json:"error,omitempty"`
	Usage     *ScriptedUsage     `json:"usage,omitempty"`
}

// ScriptedToolCall is a tool call of a scripted turn.
type ScriptedToolCall struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// ScriptedError is a provider's error answer.
type ScriptedError struct {
	Status     int           `json:"status"`
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
}

// ScriptedUsage is what a scripted turn claims to have used.
type ScriptedUsage struct {
	InputTokens  int64 `json:"inputTokens,omitempty"`
	OutputTokens int64 `json:"outputTokens,omitempty"`
}

// ToolType says what carries out a tool.
type ToolType string

// The types of tool.
const (
	ToolHTTP   ToolType = "http"
	ToolHuman  ToolType = "human"
	ToolMCP    ToolType = "mcp"    // a server that gives several tools
	ToolClient ToolType = "client" // carried out by the application that submitted
	ToolAgent  ToolType = "agent"  // a run of another agent of the same file
)

// DelegateMode says how an agent runs that a tool calls.
type DelegateMode string

// The modes. Durable is the default.
const (
	Durable   DelegateMode = "durable"   // an execution of its own; the caller waits for it without a worker
	Ephemeral DelegateMode = "ephemeral" // inside the call, and nothing of it is kept
)

// Recovery is the class of a tool call whose outcome may be unknown after a crash.
type Recovery = execution.Recovery

// The recovery classes. Unsafe is the default.
const (
	ReadOnly   = execution.RecoveryReadOnly   // run again
	Idempotent = execution.RecoveryIdempotent // run again with the same effect id
	Reconcile  = execution.RecoveryReconcile  // ask the status probe
	Unsafe     = execution.RecoveryUnsafe     // never again on its own; OnUnknown decides
)

// OnUnknown says what follows when the outcome of an unsafe call is unknown.
type OnUnknown string

// The choices at an unknown outcome. Ask is the default.
const (
	UnknownAsk       OnUnknown = "ask"        // an approval with reason outcome_unknown
	UnknownFail      OnUnknown = "fail"       // the execution fails
	UnknownTellModel OnUnknown = "tell_model" // the model gets an error result
)

// Tool is one tool of an agent.
type Tool struct {
	Name        string            `json:"name"`
	Type        ToolType          `json:"type"`
	URL         string            `json:"url,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Auth        string            `json:"auth,omitempty"`  // AuthDelegation, of http tools and of mcp tools with a URL
	Probe       *Probe            `json:"probe,omitempty"` // required for reconcile
	Description string            `json:"description,omitempty"`
	Parameters  json.RawMessage   `json:"parameters,omitempty"` // JSON Schema
	Timeout     time.Duration     `json:"timeout,omitempty"`    // 60s by default; human tools have none
	Recovery    Recovery          `json:"recovery,omitempty"`
	OnUnknown   OnUnknown         `json:"onUnknown,omitempty"`
	// MaxRetries is how often the model may correct a call of this tool; 1 by default.
	MaxRetries int `json:"maxRetries"`
	// ExpiresAfter and OnExpiry bound the questions of a tool and the wait for a result that comes later; none by default.
	ExpiresAfter time.Duration      `json:"expiresAfter,omitempty"`
	OnExpiry     execution.OnExpiry `json:"onExpiry,omitempty"`
	// Command starts an mcp server on standard input and output, with Env beside what every program needs; URL and
	// Headers reach one over HTTP. Exactly one of Command and URL is set.
	Command []string          `json:"command,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	// Allow are the server's own names of the tools that the agent gets; all of them when it is empty.
	Allow []string `json:"allow,omitempty"`
	// TrustHints takes the server's readOnlyHint and idempotentHint for the recovery class of tools that have none here.
	TrustHints bool `json:"trustHints,omitempty"`
	// Recoveries are the recovery classes of an mcp server's tools, by the server's own names; Recovery is that of the
	// others, when it is set.
	Recoveries map[string]Recovery `json:"recoveries,omitempty"`
	// Approval says which calls a person must approve before they run; Approvals, by an mcp server's own names, which ones
	// of that tool.
	Approval  Approval            `json:"approval,omitzero"`
	Approvals map[string]Approval `json:"approvals,omitempty"`
	// Sequential calls of the tool run one after the other, in the order in which the model asked.
	Sequential bool `json:"sequential,omitempty"`
	// Agent is the agent that a tool of type agent runs, in Mode. Limits bound each of its runs, beside the agent's own and
	// what is left of the caller's.
	Agent  string           `json:"agent,omitempty"`
	Mode   DelegateMode     `json:"mode,omitempty"`
	Limits execution.Limits `json:"limits,omitzero"`
}

// Approval says which calls a person must approve. The zero value is never.
type Approval struct {
	Always bool   `json:"always,omitempty"`
	When   string `json:"when,omitempty"` // a CEL expression over the call's arguments, named arguments; true: ask
	// ExpiresAfter and OnExpiry bound the question; none by default.
	ExpiresAfter time.Duration      `json:"expiresAfter,omitempty"`
	OnExpiry     execution.OnExpiry `json:"onExpiry,omitempty"`
}

// Probe asks a tool's server what became of a call.
type Probe struct {
	URL string `json:"url"`
}
