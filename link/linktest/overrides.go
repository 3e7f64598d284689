package linktest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// overriding is a submission to the agent that has a model behind an API.
func overriding(change func(*execution.CreateRequest)) execution.CreateRequest {
	r := Request("hello")
	r.Agent = "other"
	change(&r)
	return r
}

func createOverrides(t *testing.T, h Harness) {
	half := 0.5
	request := overriding(func(r *execution.CreateRequest) {
		r.Overrides = execution.Overrides{
			Model: "another", Instructions: "Be brief.",
			Generation:    &execution.Generation{MaxOutputTokens: 100, Temperature: &half, TopP: &half},
			OutputSchema:  json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			FrontendTools: []execution.FrontendTool{frontendTool("scroll")},
		}
		r.Limits = &execution.Limits{MaxModelRequests: 3, Deadline: time.Minute}
	})
	created, err := h.Local().Create(bounded(t), "key", request)
	require.NoError(t, err)
	row, err := h.Store.Get(bounded(t), created.View.ID)
	require.NoError(t, err)
	var kept execution.Overrides
	require.NoError(t, json.Unmarshal(row.Overrides, &kept))
	require.Equal(t, request.Overrides, kept)
	require.Equal(t, request.Limits, row.Request.Limits)
	worker := Claim(t, h.Store, created.View.ID)
	claimed := worker.claim.Execution
	require.Equal(t, row.Overrides, claimed.Overrides)
	require.Equal(t, claimed.StartedAtMs+time.Minute.Milliseconds(), claimed.DeadlineAtMs, "the submission's own deadline")
	worker.Complete("done")

	unchanged(t, h, func() {
		again, err := h.Local().Create(bounded(t), "key", request)
		require.NoError(t, err)
		require.True(t, again.Replayed)
		for _, change := range []func(*execution.CreateRequest){
			func(r *execution.CreateRequest) { r.Model = "large" },
			func(r *execution.CreateRequest) { r.Instructions = "" },
			func(r *execution.CreateRequest) { r.Generation = nil },
			func(r *execution.CreateRequest) { r.OutputSchema = json.RawMessage(`{}`) },
			func(r *execution.CreateRequest) { r.FrontendTools = nil },
			func(r *execution.CreateRequest) { r.Limits = nil },
		} {
			other := request
			change(&other)
			_, err = h.Local().Create(bounded(t), "key", other)
			Refused(t, err, execution.IdempotencyKeyReused, "Idempotency-Key")
		}
	})
}

// frontendTool is a tool that the client carries out.
func frontendTool(name string) execution.FrontendTool {
	return execution.FrontendTool{Name: name, Description: "Scrolls.", Parameters: json.RawMessage(`{"type":"object"}`)}
}

func withTool(change func(*execution.FrontendTool)) func(*execution.CreateRequest) {
	tool := frontendTool("scroll")
	change(&tool)
	return func(r *execution.CreateRequest) { r.FrontendTools = []execution.FrontendTool{tool} }
}

func withTools(names ...string) func(*execution.CreateRequest) {
	return func(r *execution.CreateRequest) {
		for _, name := range names {
			r.FrontendTools = append(r.FrontendTools, frontendTool(name))
		}
	}
}

func createWithoutOverrides(t *testing.T, h Harness) {
	empty := overriding(func(r *execution.CreateRequest) {
		r.Generation, r.Limits = &execution.Generation{}, &execution.Limits{}
	})
	first, err := h.Local().Create(bounded(t), "key", empty)
	require.NoError(t, err)
	row, err := h.Store.Get(bounded(t), first.View.ID)
	require.NoError(t, err)
	require.Nil(t, row.Overrides)
	again, err := h.Local().Create(bounded(t), "key", overriding(func(*execution.CreateRequest) {}))
	require.NoError(t, err)
	require.True(t, again.Replayed, "what overrides nothing says nothing")
}

func createRefusesOverrides(t *testing.T, h Harness) {
	two := 2.5
	for _, c := range []struct {
		name, field string
		change      func(*execution.CreateRequest)
	}{
		{"a long model name", "model", func(r *execution.CreateRequest) { r.Model = strings.Repeat("m", 257) }},
		{"a model name with a line break", "model", func(r *execution.CreateRequest) { r.Model = "a\nb" }},
		{"a model of a scripted agent", "model", func(r *execution.CreateRequest) { r.Agent, r.Model = "demo", "large" }},
		{"a model without a price", "model", func(r *execution.CreateRequest) { r.Agent, r.Model = "priced", "unheard of" }},
		{"long instructions", "instructions", func(r *execution.CreateRequest) { r.Instructions = strings.Repeat("x", 64<<10+1) }},
		{"a temperature", "generation.temperature", func(r *execution.CreateRequest) {
			r.Generation = &execution.Generation{Temperature: &two}
		}},
		{"a topP", "generation.topP", func(r *execution.CreateRequest) { r.Generation = &execution.Generation{TopP: &two} }},
		{"no tokens", "generation.maxOutputTokens", func(r *execution.CreateRequest) {
			r.Generation = &execution.Generation{MaxOutputTokens: -1}
		}},
		{"a temperature that the provider has not", "generation.temperature", func(r *execution.CreateRequest) {
			half := 0.5
			r.Agent, r.Generation = "priced", &execution.Generation{Temperature: &half}
		}},
		{"a schema that is none", "outputSchema", func(r *execution.CreateRequest) { r.OutputSchema = json.RawMessage(`{"type":"nothing"}`) }},
		{"a schema that is no object", "outputSchema", func(r *execution.CreateRequest) { r.OutputSchema = json.RawMessage(`true`) }},
		{"a schema elsewhere", "outputSchema", func(r *execution.CreateRequest) {
			r.OutputSchema = json.RawMessage(`{"$ref":"https://example.com/schema.json"}`)
		}},
		{"a long schema", "outputSchema", func(r *execution.CreateRequest) {
			r.OutputSchema = json.RawMessage(`{"title":"` + strings.Repeat("x", 64<<10) + `"}`)
		}},
		{"a tool without a name", "frontendTools[0].name", withTools("")},
		{"a tool with a bad name", "frontendTools[1].name", withTools("a", "b c")},
		{"a tool twice", "frontendTools[1].name", withTools("a", "a")},
		{"a tool without a description", "frontendTools[0].description", withTool(func(tool *execution.FrontendTool) { tool.Description = "" })},
		{"a tool with a long description", "frontendTools[0].description", withTool(func(tool *execution.FrontendTool) {
			tool.Description = strings.Repeat("x", 64<<10+1)
		})},
		{"a tool without parameters", "frontendTools[0].parameters", withTool(func(tool *execution.FrontendTool) { tool.Parameters = nil })},
		{"a tool whose arguments are no object", "frontendTools[0].parameters", withTool(func(tool *execution.FrontendTool) {
			tool.Parameters = json.RawMessage(`{"type":"string"}`)
		})},
		{"many tools", "frontendTools", withTools(make([]string, 65)...)},
		{"a negative limit", "limits.maxTurns", func(r *execution.CreateRequest) { r.Limits = &execution.Limits{MaxTurns: -1} }},
		{"a limit too large", "limits.maxTotalTokens", func(r *execution.CreateRequest) {
			r.Limits = &execution.Limits{MaxTotalTokens: 1 << 60}
		}},
		{"a deadline before the start", "limits.deadlineMs", func(r *execution.CreateRequest) {
			r.Limits = &execution.Limits{Deadline: -time.Second}
		}},
		{"a cost of models without a price", "limits.maxCost", func(r *execution.CreateRequest) {
			r.Limits = &execution.Limits{MaxCost: 5}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			unchanged(t, h, func() {
				_, err := h.Local().Create(bounded(t), "key", overriding(c.change))
				Refused(t, err, execution.InvalidRequest, c.field)
			})
		})
	}
}
