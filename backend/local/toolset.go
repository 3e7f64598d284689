package local

import "context"

// ToolSet is a Tool that stands for several, which a server gives and which may change while the program runs. The kit
// keeps it in the place of its declaration. The model is never told of the set itself but of its tools, and Kit.Tool
// finds its tools and never the set: nobody calls it.
type ToolSet interface {
	Tool
	// Tools are the tools at this moment, in the server's order; no two sets or tools of a kit share a name. It may have
	// to ask the server, in a time of its own. Errors are *Error: transient when the server may answer later.
	Tools(ctx context.Context) ([]Tool, error)
	// Find is the tool of this name, nil when the set has none. It never waits: when the server was not asked yet, it is
	// a tool that knows only what the agent's definition says, and finds out at its call whether the server has it.
	Find(name string) Tool
}

// toolSets are the sets among tools, by the name of their declaration.
func toolSets(tools []Tool) map[string]ToolSet {
	sets := map[string]ToolSet{}
	for _, tool := range tools {
		if set, ok := tool.(ToolSet); ok {
			sets[tool.Spec().Name] = set
		}
	}
	return sets
}

// telling is a model that is told of the tools of sets. A server that cannot be asked fails the request before it is
// sent, so that a model never answers without tools it was meant to have.
type telling struct {
	model Model
	sets  map[string]ToolSet // immutable; by declared name
}

// withToolSets is model itself when there is no set among tools.
func withToolSets(model Model, tools []Tool) Model {
	if sets := toolSets(tools); len(sets) > 0 {
		return &telling{model: model, sets: sets}
	}
	return model
}

// Generate puts the tools of each set in the place of the set.
func (t *telling) Generate(ctx context.Context, request ModelRequest, sink Sink) (ModelResponse, error) {
	specs := make([]ToolSpec, 0, len(request.Tools))
	for _, spec := range request.Tools {
		set, ok := t.sets[spec.Name]
		if !ok {
			specs = append(specs, spec)
			continue
		}
		tools, err := set.Tools(ctx)
		if err != nil {
			return ModelResponse{}, err
		}
		for _, tool := range tools {
			specs = append(specs, tool.Spec())
		}
	}
	request.Tools = specs
	return t.model.Generate(ctx, request, sink)
}
