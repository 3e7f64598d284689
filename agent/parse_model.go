package agent

import (
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
	if ok && !wholeReference.MatchString(value) { // the text is never shown: it may be the key
		o.bad("apiKey", "must be a reference such as ${%s_API_KEY}: agent files and definitions are stored", strings.ToUpper(provider))
		return ""
	}
	return value
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

// parseNoImages reads a model's images: false.
func parseNoImages(model *object) bool {
	return !model.truth("images") && model.has("images")
}

// leastThinking is the least that the API takes.
const leastThinking = 1024

// parseThinking reads how many tokens the model may think for. They are a part of those of the answer.
func parseThinking(model *object, maxOutputTokens int64) int64 {
	o := model.child("thinking")
	if o == nil {
		return 0
	}
	if !o.has("budgetTokens") {
		o.bad("budgetTokens", "is required")
	}
	budget := o.count("budgetTokens", leastThinking)
	switch {
	case budget < leastThinking:
		o.bad("budgetTokens", "must be at least %d", leastThinking)
	case maxOutputTokens > 0 && budget >= maxOutputTokens:
		o.bad("budgetTokens", "must be less than maxOutputTokens: thinking is a part of the answer")
	}
	o.refuseUnknown()
	return budget
}
