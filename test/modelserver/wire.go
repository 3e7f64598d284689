package modelserver

import "encoding/json"

type object = map[string]any

// readOpenAI takes what tests want to know from a body that was checked.
func readOpenAI(body []byte) Request {
	var wire openAIRequest
	_ = json.Unmarshal(body, &wire) // it was checked
	request := Request{Provider: ProviderOpenAI, Model: wire.Model}
	for _, bound := range []*int64{wire.MaxTokens, wire.MaxCompletionTokens} {
		if bound != nil {
			request.MaxOutputTokens = *bound
		}
	}
	for _, tool := range wire.Tools {
		request.Tools = append(request.Tools, tool.Function.Name)
	}
	for _, message := range wire.Messages {
		switch message.Role {
		case "user":
			request.Said, request.Results = textOf(message.Content), nil
		case "tool":
			request.Results = append(request.Results, Result{ID: *message.ToolCallID, Text: textOf(message.Content)})
		}
	}
	return request
}

// textOf is the text of a content, of its text parts when it has parts.
func textOf(content json.RawMessage) string {
	var text string
	if json.Unmarshal(content, &text) == nil {
		return text
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // it was checked
	for _, part := range parts {
		text += part.Text
	}
	return text
}

func readAnthropic(body []byte) Request {
	var wire anthropicRequest
	_ = json.Unmarshal(body, &wire) // it was checked
	request := Request{Provider: ProviderAnthropic, Model: wire.Model, MaxOutputTokens: *wire.MaxTokens}
	for _, tool := range wire.Tools {
		request.Tools = append(request.Tools, tool.Name)
	}
	for _, message := range wire.Messages {
		if message.Role != "user" {
			continue
		}
		for _, block := range message.Content {
			switch block.Type {
			case "text":
				request.Said, request.Results = *block.Text, nil
			case "tool_result":
				result := Result{ID: block.ToolUseID, IsError: block.IsError}
				for _, inner := range block.Content {
					if inner.Text != nil {
						result.Text += *inner.Text
					}
				}
				request.Results = append(request.Results, result)
			}
		}
	}
	return request
}

// writeOpenAI streams a reply as chunks of a chat completion.
func writeOpenAI(s *stream, reply Reply) {
	chunk := func(delta object, finish any) {
		s.send("", object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764420001, "model": "test",
			"choices": []object{{"index": 0, "delta": delta, "finish_reason": finish}}, "usage": nil,
		})
	}
	chunk(object{"role": "assistant", "content": ""}, nil)
	if !s.texts(reply, func(text string) { chunk(object{"content": text}, nil) }) {
		return
	}
	for i, call := range reply.Calls {
		half := len(call.Arguments) / 2
		chunk(object{"tool_calls": []object{{
			"index": i, "id": callID("call_", s.number+i), "type": "function",
			"function": object{"name": call.Name, "arguments": call.Arguments[:half]},
		}}}, nil)
		chunk(object{"tool_calls": []object{{"index": i, "function": object{"arguments": call.Arguments[half:]}}}}, nil)
	}
	chunk(object{}, finish(reply, "length", "tool_calls", "stop"))
	if u := reply.Usage; u != nil {
		s.send("", object{
			"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1764420001, "model": "test",
			"choices": []object{}, "usage": object{
				"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
			},
		})
	}
	_, _ = s.w.Write([]byte("data: [DONE]\n\n")) // the client may have gone
}

// writeAnthropic streams a reply as events of a message.
func writeAnthropic(s *stream, reply Reply) {
	usage := Usage{}
	if reply.Usage != nil {
		usage = *reply.Usage
	}
	event := func(kind string, fields object) {
		fields["type"] = kind
		s.send(kind, fields)
	}
	event("message_start", object{"message": object{
		"id": "msg_1", "type": "message", "role": "assistant", "model": "test", "content": []object{}, "stop_reason": nil,
		"usage": object{"input_tokens": usage.Input, "output_tokens": min(usage.Output, 1)},
	}})
	index := 0
	if len(reply.Text) > 0 {
		event("content_block_start", object{"index": index, "content_block": object{"type": "text", "text": ""}})
		if !s.texts(reply, func(text string) {
			event("content_block_delta", object{"index": index, "delta": object{"type": "text_delta", "text": text}})
		}) {
			return
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	for i, call := range reply.Calls {
		event("content_block_start", object{"index": index, "content_block": object{
			"type": "tool_use", "id": callID("toolu_", s.number+i), "name": call.Name, "input": object{},
		}})
		half := len(call.Arguments) / 2
		for _, piece := range []string{"", call.Arguments[:half], call.Arguments[half:]} {
			event("content_block_delta", object{"index": index, "delta": object{"type": "input_json_delta", "partial_json": piece}})
		}
		event("content_block_stop", object{"index": index})
		index++
	}
	event("message_delta", object{
		"delta": object{"stop_reason": finish(reply, "max_tokens", "tool_use", "end_turn"), "stop_sequence": nil},
		"usage": object{"output_tokens": usage.Output},
	})
	event("message_stop", object{})
}

func finish(reply Reply, cut, calls, stop string) string {
	switch {
	case reply.Cut:
		return cut
	case len(reply.Calls) > 0:
		return calls
	}
	return stop
}

// callID is an id as the provider makes them.
func callID(prefix string, number int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return prefix + string(letters[number%len(letters)]) + "x" + string(letters[(number/len(letters))%len(letters)]) + "9"
}
