package agent

import "encoding/json"

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
