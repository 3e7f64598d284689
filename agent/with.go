package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// OverrideError is a submission's override that the definition does not take. Field is its path in the submission.
type OverrideError struct {
	Field  string
	Reason string
}

// Error is the field and the reason.
func (e *OverrideError) Error() string { return e.Field + ": " + e.Reason }

func refuse(field, format string, args ...any) error {
	return &OverrideError{Field: field, Reason: fmt.Sprintf(format, args...)}
}

// With returns the definition that holds for an execution with these overrides: the receiver itself when there are none,
// else a copy. An error is an *OverrideError. What depends on no definition, such as sizes, is not checked here.
func (d *Definition) With(overrides execution.Overrides) (*Definition, error) {
	if overrides.OverridesNothing() {
		return d, nil
	}
	if d.Remote() {
		return nil, refuseRemote(overrides)
	}
	own := *d
	if err := own.useModel(overrides.Model); err != nil {
		return nil, err
	}
	if err := own.generate(overrides.Generation); err != nil {
		return nil, err
	}
	if overrides.Instructions != "" {
		own.Instructions = overrides.Instructions
	}
	if len(overrides.OutputSchema) > 0 {
		schema, err := checkSchema("outputSchema", overrides.OutputSchema)
		if err != nil {
			return nil, err
		}
		own.OutputSchema = schema
	}
	if err := own.addFrontendTools(overrides.FrontendTools); err != nil {
		return nil, err
	}
	return &own, nil
}

// useModel asks another model of the same provider, with the same key and without the prices, which are another model's. A
// model of the fallback list comes with all that is said of it there, and is not asked twice.
func (d *Definition) useModel(name string) error {
	if name == "" || name == d.Model.Name {
		return nil
	}
	if d.Model.Provider == providerScripted {
		return refuse("model", "the agent's model is scripted: there is no other")
	}
	fallback := d.Model.Fallback
	at := slices.IndexFunc(fallback, func(m Model) bool { return m.Name == name })
	if at < 0 {
		d.Model.Name, d.Model.Prices = name, nil
		return nil
	}
	d.Model = fallback[at]
	d.Model.Fallback = slices.Delete(slices.Clone(fallback), at, at+1)
	return nil
}

// generate takes what a submission says of the answer. Models of the fallback list take of it what they have.
func (d *Definition) generate(g *execution.Generation) error {
	if g == nil || *g == (execution.Generation{}) {
		return nil
	}
	if d.Model.Provider == providerScripted {
		return refuse("generation", "the agent's model is scripted: it takes none")
	}
	for _, fraction := range []struct {
		name    string
		value   *float64
		highest float64
	}{{"temperature", g.Temperature, highestTemperature}, {"topP", g.TopP, 1}} {
		switch {
		case fraction.value == nil:
		case d.Model.Provider == ProviderAnthropic:
			return refuse("generation."+fraction.name, "models of the provider anthropic have none")
		case !(*fraction.value >= 0 && *fraction.value <= fraction.highest):
			return refuse("generation."+fraction.name, "want a number from 0 to %g", fraction.highest)
		}
	}
	d.Model = d.Model.generating(g)
	for i, m := range d.Model.Fallback {
		d.Model.Fallback[i] = m.generating(g)
	}
	return nil
}

// generating is a copy of the model that answers as g says.
func (m Model) generating(g *execution.Generation) Model {
	m.Fallback = slices.Clone(m.Fallback)
	if g.MaxOutputTokens > 0 {
		m.MaxOutputTokens = g.MaxOutputTokens
	}
	if m.Provider == ProviderAnthropic {
		return m
	}
	if g.Temperature != nil {
		m.Temperature = g.Temperature
	}
	if g.TopP != nil {
		m.TopP = g.TopP
	}
	return m
}

// addFrontendTools puts the client's tools behind the agent's own.
func (d *Definition) addFrontendTools(tools []execution.FrontendTool) error {
	if len(tools) == 0 {
		return nil
	}
	d.Tools = slices.Clone(d.Tools)
	for i, tool := range tools {
		field := fmt.Sprintf("frontendTools[%d]", i)
		if !validName.MatchString(tool.Name) {
			return refuse(field+".name", nameRule)
		}
		if reason := d.taken(tool.Name); reason != "" {
			return refuse(field+".name", "%s", reason)
		}
		if strings.TrimSpace(tool.Description) == "" {
			return refuse(field+".description", "must say what the tool does")
		}
		schema, err := checkSchema(field+".parameters", tool.Parameters)
		if err != nil {
			return err
		}
		var declared struct {
			Type any `json:"type"`
		}
		if json.Unmarshal(schema, &declared) != nil || declared.Type != "object" {
			return refuse(field+".parameters", "must have the type object, because a model's arguments are an object")
		}
		d.Tools = append(d.Tools, Tool{
			Name: tool.Name, Type: ToolClient, Description: tool.Description, Parameters: schema, MaxRetries: 1,
		})
	}
	return nil
}

// taken says why no further tool may have the name; "" when one may.
func (d *Definition) taken(name string) string {
	if name == FinalAnswer && d.Model.UsesOutputTool() {
		return fmt.Sprintf("%q is the tool by which the agent's model gives its answer", name)
	}
	for _, tool := range d.Tools {
		switch {
		case tool.Name == name:
			return fmt.Sprintf("there is a tool %q already", name)
		case tool.Type == ToolMCP && strings.HasPrefix(name, tool.ToolPrefix()):
			return fmt.Sprintf("names that begin with %q are those of the tools of %s", tool.ToolPrefix(), tool.Name)
		}
	}
	return ""
}

// checkSchema returns the canonical text of a JSON Schema.
func checkSchema(field string, schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return nil, refuse(field, "must be a JSON Schema")
	}
	text, err := canonical(schema)
	if err != nil || text[0] != '{' {
		return nil, refuse(field, "must be a JSON Schema, an object")
	}
	if _, err := CompileSchema(text); err != nil {
		return nil, refuse(field, "is not a valid JSON Schema: %s", schemaMessage(err))
	}
	return text, nil
}
