package link

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// checkEdits refuses edited arguments that do not fit the parameters which the execution's own definition declares. What
// cannot be told here (the tools of an mcp server, a definition that is not there) the loop finds out: it asks again.
func (s *Service) checkEdits(ctx context.Context, row *journal.Execution, decisions []execution.Decision) error {
	edits := slices.ContainsFunc(decisions, func(d execution.Decision) bool { return d.Decision == execution.Edit })
	if !edits || row.PendingInteraction == nil {
		return nil
	}
	definition := s.definitionOf(ctx, row)
	if definition == nil {
		return nil
	}
	names := map[execution.CallID]string{}
	for _, call := range row.PendingInteraction.Calls {
		names[call.CallID] = call.Name
	}
	for i, d := range decisions {
		if d.Decision != execution.Edit {
			continue
		}
		if err := fitsParameters(definition, names[d.CallID], d.Arguments); err != nil {
			return invalid(decisionField(i, "arguments"), "do not fit the parameters of %s: %s", names[d.CallID], oneLine(err))
		}
	}
	return nil
}

// definitionOf is the definition that the execution runs with; nil when it cannot be read.
func (s *Service) definitionOf(ctx context.Context, row *journal.Execution) *agent.Definition {
	data, err := s.cfg.Journal.Definition(ctx, row.Definition)
	if err != nil {
		return nil
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil
	}
	adjustments, err := agent.DecodeAdjustments(row.Overrides)
	if err != nil {
		return nil
	}
	if definition, err = definition.Adjusted(adjustments); err != nil {
		return nil
	}
	return definition
}

// fitsParameters compares arguments with the parameters of the tool of that name, if they are known.
func fitsParameters(definition *agent.Definition, name string, arguments json.RawMessage) error {
	at := slices.IndexFunc(definition.Tools, func(tool agent.Tool) bool { return tool.Name == name })
	if at < 0 || len(definition.Tools[at].Parameters) == 0 {
		return nil
	}
	schema, err := agent.CompileSchema(definition.Tools[at].Parameters)
	if err != nil {
		return nil // whoever declared it finds out
	}
	decoder := json.NewDecoder(bytes.NewReader(arguments))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	return schema.Validate(value)
}
