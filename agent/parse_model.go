package agent

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"
)

// DefaultModelTimeout is how long a model may take to begin its answer when its file does not say.
const DefaultModelTimeout = 10 * time.Minute

// DefaultMaxOutputTokens bounds an answer where a bound is needed and the file has none: for models of the provider
// anthropic, whose API wants one, and where limits bound what an execution may cost.
const DefaultMaxOutputTokens = 8192

const highestTemperature = 2

// The providers of this version.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
	providerScripted  = "scripted"
)

// keyReference is a key as a file may hold it: the file and the definition are stored, so it is only ever a reference.
var keyReference = regexp.MustCompile(`^\$\{[A-Za-z_][A-Za-z0-9_]*\}$`)

// laterModelKeys are keys of a model that this version knows of and does not have.
var laterModelKeys = []string{"headers", "generation"}

func parseModel(agent *object) Model {
	if !agent.has("model") {
		agent.bad("model", "is required")
	}
	o := agent.child("model")
	if o == nil {
		return Model{}
	}
	fallback := parseFallback(o)
	model := parseProvider(o)
	model.Fallback = fallback
	return model
}

// parseProvider reads one model.
func parseProvider(o *object) Model {
	provider, ok := o.required("provider")
	switch {
	case !ok:
		return Model{}
	case provider == providerScripted:
		return parseScripted(o)
	case provider == ProviderOpenAI, provider == ProviderAnthropic:
		return parseRealModel(o, provider)
	default: // what else it says is about a model that there is not
		o.bad("provider", "must be one of %s, %s, %s, not %q", ProviderOpenAI, ProviderAnthropic, providerScripted, provider)
		return Model{Provider: provider}
	}
}

func parseScripted(o *object) Model {
	model := Model{
		Provider: providerScripted, Timeout: o.duration("timeout", 0), Turns: parseTurns(o), NoImages: parseNoImages(o),
		Prices: parsePrices(o), StructuredOutput: StructuredOutput(o.choice("structuredOutput", "", string(StructuredTool))),
	}
	o.refuseKeys("the scripted model has none", realModelKeys()...)
	o.refuseUnknown(laterModelKeys...)
	return model
}

// realModelKeys are keys that only a model behind an API has.
func realModelKeys() []string {
	return []string{"name", "baseURL", "apiKey", "maxOutputTokens", "temperature", "topP", "thinking"}
}

func parseRealModel(o *object, provider string) Model {
	model := Model{Provider: provider, Timeout: o.duration("timeout", DefaultModelTimeout), NoImages: parseNoImages(o)}
	model.Name, _ = o.required("name")
	if o.get("baseURL") != nil {
		model.BaseURL = o.address("baseURL")
		if !hasReference(model.BaseURL) && strings.Contains(model.BaseURL, "?") {
			o.bad("baseURL", "must not have a ? part")
		}
	}
	model.APIKey = parseAPIKey(o, provider)
	if model.MaxOutputTokens = o.count("maxOutputTokens", 0); o.has("maxOutputTokens") && model.MaxOutputTokens == 0 {
		o.bad("maxOutputTokens", "must be a whole number greater than 0")
	}
	model.Prices = parsePrices(o)
	structured := []string{string(StructuredSchema), string(StructuredOff), string(StructuredTool)}
	if provider == ProviderAnthropic {
		o.refuseKeys("anthropic has none", "temperature", "topP")
		model.ThinkingTokens = parseThinking(o, model.MaxOutputTokens)
	} else {
		o.refuseKeys("only anthropic has it", "thinking")
		model.Temperature = o.fraction("temperature", highestTemperature)
		model.TopP = o.fraction("topP", 1)
		structured = append(structured, string(StructuredJSON))
	}
	model.StructuredOutput = StructuredOutput(o.choice("structuredOutput", string(StructuredSchema), structured...))
	o.refuseKeys("only the scripted model has them", "turns")
	o.refuseUnknown(laterModelKeys...)
	return model
}

// parseAPIKey is required where the provider itself is asked; a server of one's own may want none.
func parseAPIKey(o *object, provider string) string {
	if !o.has("apiKey") {
		o.get("apiKey")
		if !o.has("baseURL") {
			o.bad("apiKey", "is required, unless baseURL names a server that wants none")
		}
		return ""
	}
	value, ok := o.required("apiKey")
	if ok && !keyReference.MatchString(value) { // the text is never shown: it may be the key
		o.bad("apiKey", "must be a reference such as ${%s_API_KEY}: agent files and definitions are stored", strings.ToUpper(provider))
		return ""
	}
	return value
}

// fraction is a number from 0 to highest; nil when it is not there.
func (o *object) fraction(key string, highest float64) *float64 {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != numberNode {
		o.bad(key, "must be a number, not %s", n.kind)
		return nil
	}
	value, err := n.number.Float64()
	if err != nil || !(value >= 0 && value <= highest) {
		o.bad(key, "must be a number from 0 to %g", highest)
		return nil
	}
	return &value
}

// requireToolDocs reports tools that a real model could not know how to call. A scripted one needs no words.
func requireToolDocs(agent *object, provider string) {
	if provider != ProviderOpenAI && provider != ProviderAnthropic {
		return
	}
	n := agent.get("tools")
	if n == nil || n.kind != listNode {
		return
	}
	for i, item := range n.items {
		if item.kind != mapNode {
			continue
		}
		o := &object{problems: agent.problems, node: item, path: agent.item("tools", i), asked: map[string]bool{}}
		needed := []string{"description", "parameters"}
		switch kind, _ := o.text("type"); ToolType(kind) {
		case ToolHTTP, ToolHuman, ToolClient:
		case ToolAgent:
			needed = needed[:1] // its parameters have a default
		default: // an mcp server says it itself
			continue
		}
		for _, key := range needed {
			if !o.has(key) {
				o.bad(key, "is required: it is what the model knows of the tool")
			}
		}
	}
}

func parseTurns(model *object) []ScriptedTurn {
	items := model.list("turns")
	if len(items) == 0 && (!model.has("turns") || model.get("turns").kind == listNode) {
		model.bad("turns", "the scripted model needs at least one turn")
	}
	turns := make([]ScriptedTurn, 0, len(items))
	for i, item := range items {
		if o := objectAt(model.problems, item, model.item("turns", i)); o != nil {
			turns = append(turns, parseTurn(o))
		}
	}
	return turns
}

func parseTurn(o *object) ScriptedTurn {
	turn := ScriptedTurn{Delay: o.duration("delay", 0)}
	turn.Text, _ = o.text("text")
	for i, item := range o.list("toolCalls") {
		if call := objectAt(o.problems, item, o.item("toolCalls", i)); call != nil {
			turn.ToolCalls = append(turn.ToolCalls, parseScriptedCall(call))
		}
	}
	turn.Error = parseScriptedError(o)
	if usage := o.child("usage"); usage != nil {
		turn.Usage = &ScriptedUsage{InputTokens: usage.count("inputTokens", 0), OutputTokens: usage.count("outputTokens", 0)}
		usage.refuseUnknown()
	}
	o.refuseUnknown()
	switch {
	case !o.has("text") && !o.has("toolCalls") && !o.has("error"):
		o.add(o.node.line, o.path, "a turn needs text, toolCalls or error")
	case o.has("error") && (o.has("text") || o.has("toolCalls") || o.has("usage")):
		o.bad("error", "a turn that fails has no text, toolCalls or usage")
	}
	return turn
}

func parseScriptedCall(o *object) ScriptedToolCall {
	call := ScriptedToolCall{Arguments: json.RawMessage(`{}`)}
	// The tool need not exist: calling one that does not is a path worth playing.
	if name, ok := o.required("name"); ok {
		if !validName.MatchString(name) {
			o.bad("name", nameRule)
		}
		call.Name = name
	}
	if arguments := o.json("arguments"); arguments != nil {
		call.Arguments = arguments
	}
	o.refuseUnknown()
	return call
}

func parseScriptedError(turn *object) *ScriptedError {
	o := turn.child("error")
	if o == nil {
		return nil
	}
	if !o.has("status") {
		o.bad("status", "is required")
	}
	status := o.small("status", 0)
	if o.has("status") && (status < 400 || status > 599) {
		o.bad("status", "must be an HTTP error status, 400 to 599")
	}
	failure := &ScriptedError{Status: status, RetryAfter: o.duration("retryAfter", 0)}
	o.refuseUnknown()
	return failure
}
