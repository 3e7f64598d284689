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

// listening notes the tools it is told of.
type listening struct{ names []string }

func (m *listening) Generate(_ context.Context, request local.ModelRequest, _ local.Sink) (local.ModelResponse, error) {
	m.names = nil
	for _, spec := range request.Tools {
		m.names = append(m.names, spec.Name)
	}
	return local.ModelResponse{Text: "hi"}, nil
}

func TestAModelIsToldOfTheToolsOfASet(t *testing.T) {
	t.Parallel()
	model := &listening{}
	set := &someTools{plainTool: "s", tools: []local.Tool{plainTool("s_a"), plainTool("s_b")}}
	kits, err := local.NewBuilder(local.BuilderConfig{
		Models: map[string]local.ModelFactory{
			"scripted": func(context.Context, *agent.Definition, local.Lookup) (local.Model, error) { return model, nil },
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

	var request local.ModelRequest
	for _, tool := range kit.Tools {
		request.Tools = append(request.Tools, tool.Spec())
	}
	_, err = kit.Model.Generate(t.Context(), request, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"x", "s_a", "s_b", "y"}, model.names)

	set.tools = append(set.tools, plainTool("s_c")) // the server has one more
	_, err = kit.Model.Generate(t.Context(), request, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"x", "s_a", "s_b", "s_c", "y"}, model.names)

	model.names = nil
	set.err = &local.Error{Kind: local.Transient, Code: "away"}
	_, err = kit.Model.Generate(t.Context(), request, nil)
	require.ErrorIs(t, err, set.err)
	require.Nil(t, model.names, "the model is not asked without its tools")
}
