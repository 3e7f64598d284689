package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
)

// plainTool is a tool by its name alone.
type plainTool string

func (t plainTool) Spec() local.ToolSpec { return local.ToolSpec{Name: string(t)} }

func (t plainTool) Call(context.Context, local.Invocation, local.Sink) (local.Answer, error) {
	return local.Answer{}, errors.New("not called")
}

// someTools is a set.
type someTools struct {
	plainTool
	tools []local.Tool
	err   error
}

func (s *someTools) Tools(context.Context) ([]local.Tool, error) { return s.tools, s.err }

func (s *someTools) Find(name string) local.Tool {
	for _, tool := range s.tools {
		if tool.Spec().Name == name {
			return tool
		}
	}
	return nil
}

// silent is never asked.
type silent struct{}

func (silent) Generate(context.Context, local.ModelRequest, local.Sink) (local.ModelResponse, error) {
	return local.ModelResponse{}, errors.New("not asked")
}

func names(specs []local.ToolSpec) (names []string) {
	for _, spec := range specs {
		names = append(names, spec.Name)
	}
	return names
}

func TestAModelIsToldOfTheToolsOfASet(t *testing.T) {
	t.Parallel()
	set := &someTools{plainTool: "s", tools: []local.Tool{plainTool("s_a"), plainTool("s_b")}}
	kits, err := local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{
			"scripted": func(context.Context, *agent.Definition, local.Lookup) (local.Model, error) { return silent{}, nil },
		},
		Tools: map[agent.ToolType]local.ToolFactory{
			agent.ToolMCP: func(context.Context, *agent.Definition, agent.Tool, local.Lookup) (local.Tool, error) {
				return set, nil
			},
			agent.ToolHTTP: func(_ context.Context, _ *agent.Definition, declared agent.Tool, _ local.Lookup) (local.Tool, error) {
				return plainTool(declared.Name), nil
			},
		},
	})
	require.NoError(t, err)
	kit, err := kits.Build(t.Context(), &agent.Definition{
		Name: "demo", Model: agent.Model{Provider: "scripted"}, OutputSchema: json.RawMessage(`{}`),
		Tools: []agent.Tool{
			{Name: "x", Type: agent.ToolHTTP}, {Name: "s", Type: agent.ToolMCP}, {Name: "y", Type: agent.ToolHTTP},
		},
	})
	require.NoError(t, err)
	require.Len(t, kit.Tools, 3)
	require.Equal(t, plainTool("s_a"), kit.Tool("s_a"))
	require.Equal(t, plainTool("y"), kit.Tool("y"))
	require.Nil(t, kit.Tool("s"), "nobody calls a set")
	require.Nil(t, kit.Tool("s_c"))

	specs, err := kit.Specs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"x", "s_a", "s_b", "y"}, names(specs))

	set.tools = append(set.tools, plainTool("s_c")) // the server has one more
	specs, err = kit.Specs(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"x", "s_a", "s_b", "s_c", "y"}, names(specs))

	set.err = &local.Error{Kind: local.Transient, Code: "away"}
	_, err = kit.Specs(t.Context())
	require.ErrorIs(t, err, set.err, "the model is not to be asked without its tools")
}
