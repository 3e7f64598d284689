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

// Specs are the tools that a model is told of at this moment: those of a set stand in its place. It may have to ask the
// servers of sets; an error is an *Error, and then the model must not be asked: it would answer without tools that it was
// meant to have.
func (k *Kit) Specs(ctx context.Context) ([]ToolSpec, error) {
	specs := make([]ToolSpec, 0, len(k.Tools))
	for _, tool := range k.Tools {
		set, ok := tool.(ToolSet)
		if !ok {
			specs = append(specs, tool.Spec())
			continue
		}
		tools, err := set.Tools(ctx)
		if err != nil {
			return nil, err
		}
		for _, tool := range tools {
			specs = append(specs, tool.Spec())
		}
	}
	return specs, nil
}
