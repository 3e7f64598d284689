package openai_test

import (
	"testing"
	"time"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/internal/wiretest"
	"github.com/pawl-run/pawl/backend/local/openai"
)

const (
	begin = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"finish_reason":null}]}

`
	end = `data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`
)

func TestWhenThingsGoWrong(t *testing.T) {
	t.Parallel()
	wiretest.Run(t, wiretest.Subject{
		Key: canary, Begin: begin, End: end,
		Build: func(t *testing.T, url string, timeout, silence time.Duration) local.Model {
			t.Helper()
			model := settings(url)
			model.Timeout = timeout
			return build(t, openai.Config{Silence: silence}, model)
		},
		Errors: []wiretest.StreamError{
			{Event: `data: {"error":{"message":"Overloaded KEY","code":503}}` + "\n\n", Kind: local.Transient, Code: "overloaded"},
			{Event: `data: {"error":{"message":"slow down","type":"rate_limit_exceeded"}}` + "\n\n", Kind: local.Transient, Code: "rate_limited"},
			{Event: `data: {"error":{"message":"oops","type":"server_error","code":null}}` + "\n\n", Kind: local.Transient, Code: "model_unavailable"},
			{Event: `data: {"error":{"message":"no","type":"invalid_request_error","code":"context_length_exceeded"}}` + "\n\n", Kind: local.Permanent, Code: "context_length"},
			{Event: `data: {"choices":[{"index":0,"delta":{},"finish_reason":"content_filter"}]}` + "\n\ndata: [DONE]\n\n", Kind: local.Permanent, Code: "content_filter"},
			{Event: "data: not JSON\n\n", Kind: local.Transient, Code: local.CodeMalformedResponse},
		},
	})
}
