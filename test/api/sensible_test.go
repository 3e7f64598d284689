package api

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/pawl-run/pawl/execution"
)

// sensible puts what only the world knows into a body: names of agents, ids, questions that are open.
func (g *generator) sensible(r *generated, body map[string]any) {
	switch r.call.ID {
	case "createExecution":
		g.sensibleSubmission(body)
	case "submitInput":
		g.sensibleInput(r, body)
	case "forkExecution":
		delete(body, "model")
		body["step"] = 0
		if fork, ok := g.world.forks.pick(g.random); ok {
			r.id, r.path = string(fork.id), "/v1/executions/"+string(fork.id)+"/fork"
			body["step"] = uint64(fork.step)
		}
		if input, is := body["input"].(map[string]any); is {
			sensibleParts(input)
		}
	case "resumeExecution":
		if limits, is := body["limits"].(map[string]any); is {
			sensibleLimits(limits)
		}
	case "steerExecutions":
		filter := map[string]any{"conversationId": fmt.Sprintf("c%d", g.random.IntN(200))}
		if g.random.IntN(3) == 0 {
			filter = map[string]any{"state": "suspended", "agent": "limited"}
		}
		body["filter"] = filter
		delete(body, "cursor")
		body["limit"] = 1 + g.random.IntN(5)
	}
}

func (g *generator) sensibleSubmission(body map[string]any) {
	names := []string{"quick", "quick", "demo", "demo", "refund", "page", "large", "slow", "wrong", "limited", "real"}
	agent := names[g.random.IntN(len(names))]
	body["agent"] = agent
	if agent != "real" {
		delete(body, "model")
		delete(body, "generation")
	}
	if _, has := body["outputSchema"]; has {
		body["outputSchema"] = map[string]any{"type": "object"}
	}
	if tools, is := body["frontendTools"].([]any); is {
		for i, tool := range tools {
			tool := tool.(map[string]any)
			tool["name"], tool["parameters"] = fmt.Sprintf("front%d", i), map[string]any{"type": "object"}
		}
	}
	if limits, is := body["limits"].(map[string]any); is {
		sensibleLimits(limits)
	}
	if _, has := body["conversationId"]; has {
		body["conversationId"] = fmt.Sprintf("c%d", g.random.IntN(200))
	}
	if _, has := body["startAtMs"]; has {
		body["startAtMs"] = g.random.IntN(1000)
	}
	if agent == "quick" || agent == "demo" {
		body["metadata"] = map[string]any{"order": fmt.Sprint(g.random.IntN(10))}
	}
	if input, is := body["input"].(map[string]any); is {
		sensibleParts(input)
	}
}

// sensibleLimits leaves the executions room to run.
func sensibleLimits(limits map[string]any) {
	delete(limits, "maxCost")
	for name := range limits {
		if name != "suspendOnExceeded" {
			limits[name] = 100_000
		}
	}
}

// sensibleParts gives images the bytes of one.
func sensibleParts(input map[string]any) {
	parts, _ := input["parts"].([]any)
	for _, part := range parts {
		part := part.(map[string]any)
		switch part["type"] {
		case "image":
			part["mediaType"], part["data"] = "image/gif", "R0lGODlhAQABAAAAACw="
		case "image_url":
			part["url"] = "https://example.com/before.png"
		}
	}
}

// sensibleInput answers a question that is open, with the right type as a rule.
func (g *generator) sensibleInput(r *generated, body map[string]any) {
	body["operationId"] = fmt.Sprintf("op-%d", g.n)
	view, ok := g.world.asking.pick(g.random)
	if !ok || g.random.IntN(20) == 0 {
		return
	}
	r.id, r.path = string(view.ID), "/v1/executions/"+string(view.ID)+"/input"
	open := view.Interaction
	input := map[string]any{"requestId": string(open.RequestID)}
	switch open.Kind {
	case execution.Approval:
		input["type"] = "tool_approval"
		input["decisions"] = g.decisions(open)
	case execution.ClientToolResult:
		input["type"], input["callId"] = "tool_result", string(open.Calls[0].CallID)
		input["result"] = g.value(map[string]any{}, 0)
	default:
		input["type"], input["text"] = "elicitation_response", "yes"
		if g.random.IntN(4) == 0 {
			delete(input, "text")
			input["declined"] = true
		}
	}
	body["input"] = input
}

func (g *generator) decisions(open *execution.Interaction) []any {
	var decisions []any
	for _, call := range open.Calls {
		d := map[string]any{"callId": string(call.CallID)}
		switch g.random.IntN(4) {
		case 0:
			d["decision"], d["argumentsHash"] = "approve", call.ArgumentsHash
		case 1:
			d["decision"], d["reason"] = "reject", "too expensive"
		case 2:
			d["decision"], d["arguments"] = "edit", map[string]any{"amount": 1}
		default:
			d["decision"], d["answer"] = "answer", "done"
		}
		decisions = append(decisions, d)
	}
	return decisions
}

// special makes of some requests what chance alone hardly makes: repeats, streams, reads to the very end.
func (g *generator) special(r *generated) {
	switch r.call.ID {
	case "createExecution", "forkExecution":
		g.repeat(r)
	case "submitInput":
		if again, ok := g.world.inputs.pick(g.random); ok && g.random.IntN(6) == 0 {
			r.id, r.path, r.body = string(again.id), again.path, again.body
		}
	case "listExecutions":
		if query, ok := g.world.cursors.pick(g.random); ok && g.random.IntN(3) == 0 {
			r.query = maps.Clone(query)
		} else {
			r.query.Del("cursor")
		}
		if r.query.Has("limit") && r.query.Get("cursor") == "" {
			r.query.Set("limit", fmt.Sprint(1+g.random.IntN(20)))
		}
	case "readEvents":
		g.specialEvents(r)
	case "listToolCalls":
		if g.random.IntN(8) == 0 {
			r.query.Set("after", "1000000")
		}
	case "getMetrics":
		r.caller = "on call"
	case "followExecutions":
		r.header.Set("Accept", "text/event-stream")
	case "getBlob":
		blob, ok := g.world.blobs.pick(g.random)
		if !ok {
			blob = [2]string{r.id, fmt.Sprintf("%064x", 1)}
		}
		r.id, r.path = blob[0], "/v1/executions/"+blob[0]+"/blobs/"+blob[1]
		if _, has := r.header["If-None-Match"]; has {
			r.header.Set("If-None-Match", `"`+blob[1]+`"`)
		}
	}
}

// repeat sends a submission again, as it was or with another body, also one whose execution was deleted.
func (g *generator) repeat(r *generated) {
	if _, has := r.header["Idempotency-Key"]; has {
		r.header.Set("Idempotency-Key", fmt.Sprintf("key-%d-%s", g.n, r.call.ID))
	}
	from := g.world.keyed[r.call.ID]
	if g.random.IntN(3) == 0 {
		from = g.world.gone[r.call.ID]
	}
	again, ok := from.pick(g.random)
	if !ok || g.random.IntN(6) != 0 {
		return
	}
	r.path, r.id = again.path, ""
	r.header.Set("Idempotency-Key", again.key)
	r.header.Set("Content-Type", "application/json")
	if r.body == nil || g.random.IntN(4) != 0 {
		r.body = again.body
	}
}

func (g *generator) specialEvents(r *generated) {
	r.query.Del("token")
	switch g.random.IntN(8) {
	case 0, 1: // a stream, from where it is
		r.header.Set("Accept", "text/event-stream")
		r.query.Del("limit")
	case 2: // the end of a log
		if end, ok := g.world.ended.pick(g.random); ok {
			r.id, r.path = end[0], "/v1/executions/"+end[0]+"/events"
			r.header.Set("Accept", "text/event-stream")
			r.header.Set("Last-Event-ID", end[1])
			r.query.Del("limit")
		}
	case 3:
		if g.random.IntN(2) == 0 {
			r.query.Set("after", "1000000")
			r.header.Del("Last-Event-ID")
			break
		}
		if token, ok := g.world.tokens.pick(g.random); ok {
			r.id, r.path, r.caller = token[0], "/v1/executions/"+token[0]+"/events", ""
			r.query = map[string][]string{"token": {token[1]}}
			r.header.Set("Accept", "text/event-stream")
		}
	default:
		if r.header.Get("Accept") == "" {
			r.query.Del("types") // of a page there are no types
		}
	}
}

// twice is a JSON object that has one of its members twice.
func twice(body []byte) []byte {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || len(object) == 0 {
		return []byte(`{"agent": "quick", "agent": "demo"}`)
	}
	for name, value := range object {
		return fmt.Appendf(nil, "%s,%q:%s}", body[:len(body)-1], name, value)
	}
	return nil
}
