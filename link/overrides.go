package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// Bounds of what a submission may say in place of its agent, in bytes. Every claim brings it to a worker.
const (
	maxModelName     = 256
	maxInstructions  = 64 << 10
	maxOutputSchema  = 64 << 10
	maxFrontendTools = 64
	maxDescription   = 4 << 10
	maxParameters    = 16 << 10
	maxOverrides     = 256 << 10
	maxCount         = 1_000_000_000_000_000 // exact in every JSON reader
	maxDeadline      = 100 * 365 * 24 * time.Hour
)

// normalizeOverrides makes two requests that mean the same the same.
func normalizeOverrides(r execution.CreateRequest) execution.CreateRequest {
	if r.Generation != nil && *r.Generation == (execution.Generation{}) {
		r.Generation = nil
	}
	if len(r.FrontendTools) == 0 {
		r.FrontendTools = nil
	}
	if r.Limits != nil && *r.Limits == (execution.Limits{}) {
		r.Limits = nil
	}
	return r
}

// validateOverrides checks what depends on no agent.
func validateOverrides(r execution.CreateRequest) error {
	for _, check := range []error{
		validateModelName(r.Model),
		validateLongText("instructions", r.Instructions, maxInstructions),
		validateGeneration(r.Generation),
		validateRaw("outputSchema", r.OutputSchema, maxOutputSchema),
		validateFrontendTools(r.FrontendTools),
		validateLimits(r.Limits),
	} {
		if check != nil {
			return check
		}
	}
	data, err := json.Marshal(r.Overrides)
	if err != nil {
		return execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("overrides: %w", err))
	}
	if len(data) > maxOverrides {
		return invalid("body", "model, instructions, generation, outputSchema and frontendTools may have %d bytes together", maxOverrides)
	}
	return nil
}

func validateModelName(name string) error {
	if name == "" {
		return nil
	}
	if len(name) > maxModelName || strings.TrimSpace(name) != name {
		return invalid("model", "want at most %d bytes, without space around it", maxModelName)
	}
	for _, r := range name {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return invalid("model", "must hold printable characters only")
		}
	}
	return nil
}

func validateLongText(field, text string, most int) error {
	if len(text) > most {
		return invalid(field, "want at most %d bytes", most)
	}
	if !utf8.ValidString(text) {
		return invalid(field, "must be valid UTF-8")
	}
	return nil
}

func validateRaw(field string, raw json.RawMessage, most int) error {
	if len(raw) > most {
		return invalid(field, "want at most %d bytes", most)
	}
	return nil
}

func validateGeneration(g *execution.Generation) error {
	if g == nil {
		return nil
	}
	return validateCount("generation.maxOutputTokens", g.MaxOutputTokens)
}

func validateCount(field string, n int64) error {
	if n < 0 || n > maxCount {
		return invalid(field, "want a number from 0 to %d", int64(maxCount))
	}
	return nil
}

func validateFrontendTools(tools []execution.FrontendTool) error {
	if len(tools) > maxFrontendTools {
		return invalid("frontendTools", "want at most %d tools, got %d", maxFrontendTools, len(tools))
	}
	for i, tool := range tools {
		field := fmt.Sprintf("frontendTools[%d]", i)
		if tool.Name == "" {
			return required(field + ".name")
		}
		if err := validateLongText(field+".description", tool.Description, maxDescription); err != nil {
			return err
		}
		if err := validateRaw(field+".parameters", tool.Parameters, maxParameters); err != nil {
			return err
		}
	}
	return nil
}

func validateLimits(l *execution.Limits) error {
	if l == nil {
		return nil
	}
	for _, count := range []struct {
		name  string
		value int64
	}{
		{"maxTurns", l.MaxTurns},
		{"maxModelRequests", l.MaxModelRequests},
		{"maxToolCalls", l.MaxToolCalls},
		{"maxInputTokens", l.MaxInputTokens},
		{"maxOutputTokens", l.MaxOutputTokens},
		{"maxTotalTokens", l.MaxTotalTokens},
		{"maxCost", l.MaxCost},
	} {
		if err := validateCount("limits."+count.name, count.value); err != nil {
			return err
		}
	}
	if l.Deadline < 0 || l.Deadline > maxDeadline {
		return invalid("limits.deadlineMs", "want milliseconds from 0 to %d", maxDeadline.Milliseconds())
	}
	return nil
}

// effective is the definition that holds for the submission, and what its row says of it.
func effective(declared *agent.Definition, r execution.CreateRequest) (definition *agent.Definition, overrides []byte, err error) {
	if field := unsupported(capabilities(declared), r.Overrides); field != "" {
		return nil, nil, invalid(field, "the agent's backend takes none")
	}
	if !r.OverridesNothing() {
		definition, err = declared.With(r.Overrides)
		if refused := new(agent.OverrideError); errors.As(err, &refused) {
			return nil, nil, invalid(refused.Field, "%s", refused.Reason)
		}
		if err == nil {
			overrides, err = json.Marshal(r.Overrides)
		}
		if err != nil {
			return nil, nil, execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("overrides: %w", err))
		}
	} else {
		definition = declared
	}
	if err := takesLimits(definition, r.Limits); err != nil {
		return nil, nil, err
	}
	if limitsOf(definition, r).MaxCost > 0 && !definition.Model.Priced() {
		if r.Limits != nil && r.Limits.MaxCost > 0 {
			return nil, nil, invalid("limits.maxCost", "the price of every model that may be asked must be known: see prices in the agent file")
		}
		return nil, nil, invalid("model", "the agent has a limit of its cost, and no price is known of this model")
	}
	return definition, overrides, nil
}

// unsupported names the first override that the backend does not take; "" when it takes all.
func unsupported(can execution.Capabilities, o execution.Overrides) string {
	for _, field := range []struct {
		name  string
		given bool
		taken bool
	}{
		{"model", o.Model != "", can.Overrides},
		{"instructions", o.Instructions != "", can.Overrides},
		{"generation", o.Generation != nil, can.Overrides},
		{"outputSchema", len(o.OutputSchema) > 0, can.Overrides},
		{"frontendTools", len(o.FrontendTools) > 0, can.FrontendTools},
	} {
		if field.given && !field.taken {
			return field.name
		}
	}
	return ""
}

// takesLimits names the first limit that the agent's backend cannot keep.
func takesLimits(definition *agent.Definition, limits *execution.Limits) error {
	if limits == nil {
		return nil
	}
	err := definition.TakesLimits(*limits)
	if refused := new(agent.OverrideError); errors.As(err, &refused) {
		return invalid(refused.Field, "%s", refused.Reason)
	}
	return err
}

// limitsOf are the limits in force for the submission.
func limitsOf(definition *agent.Definition, r execution.CreateRequest) execution.Limits {
	if r.Limits == nil {
		return definition.Limits
	}
	return r.Limits.Over(definition.Limits)
}
