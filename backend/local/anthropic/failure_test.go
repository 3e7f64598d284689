package anthropic_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/anthropic"
	"github.com/pawl-run/pawl/backend/local/internal/wiretest"
	"github.com/pawl-run/pawl/execution"
)

const (
	begin = `event: message_start
data: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":9,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}

`
	end = `event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}

event: message_stop
data: {"type":"message_stop"}

`
)

func TestWhenThingsGoWrong(t *testing.T) {
	t.Parallel()
	event := func(data string) string { return "event: error\ndata: " + data + "\n\n" }
	wiretest.Run(t, wiretest.Subject{
		Key: canary, Begin: begin, End: end,
		Usage: &execution.Usage{InputTokens: 16, CacheReadTokens: 5, CacheWriteTokens: 2, OutputTokens: 1, TotalTokens: 17},
		Build: func(t *testing.T, url string, timeout, silence time.Duration) local.Model {
			t.Helper()
			model := settings(url)
			model.Timeout = timeout
			return build(t, anthropic.Config{Silence: silence}, model)
		},
		Errors: []wiretest.StreamError{
			{Event: event(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded KEY"}}`), Kind: local.Transient, Code: "overloaded"},
			{Event: event(`{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`), Kind: local.Transient, Code: "rate_limited"},
			{Event: event(`{"type":"error","error":{"type":"api_error","message":"oops"}}`), Kind: local.Transient, Code: "model_unavailable"},
			{Event: event(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long"}}`), Kind: local.Permanent, Code: "context_length"},
			{Event: event(`KEY`), Kind: local.Transient, Code: "model_unavailable"},
			{
				Event: "event: message_delta\ndata: " + `{"type":"message_delta","delta":{"stop_reason":"refusal"},"usage":{"output_tokens":4}}` +
					"\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
				Kind: local.Permanent, Code: "content_filter",
			},
			{Event: "event: message_delta\ndata: not JSON\n\n", Kind: local.Transient, Code: local.CodeMalformedResponse},
		},
	})
}
