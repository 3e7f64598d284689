package openapitest

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestX(t *testing.T) {
	c, err := New()
	require.NoError(t, err)
	_ = c
}

func BenchmarkCheck(b *testing.B) {
	c, err := New()
	require.NoError(b, err)
	h := http.Header{"Content-Type": {"application/json"}, "Location": {"/v1/executions/exec_0701JDZ8M5Q4T9V3X2R7B6N0PKWA"}}
	for k, v := range map[string]string{"X-Request-Id": "req_KJ3QW7XWZ2M4T5LDN6A2V7YBCE", "X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'", "Cache-Control": "no-store"} {
		h[k] = []string{v}
	}
	body := []byte(`{"id":"exec_0701JDZ8M5Q4T9V3X2R7B6N0PKWA","agent":"demo","conversationId":"c","state":"queued","usage":{"requests":0,"inputTokens":0,"outputTokens":0,"totalTokens":0,"toolCalls":0},"step":0,"node":"run_start","version":1,"createdAtMs":1,"updatedAtMs":1}`)
	for b.Loop() {
		r := httptest.NewRequest("POST", "/v1/executions", nil)
		r.Header.Set("Content-Type", "application/json")
		err := c.Check(Exchange{Request: r, Sent: []byte(`{"agent": "demo", "input": {"type": "user_message", "text": "Oslo"}, "metadata": {"order": "7"}}`), Status: 202, Header: h, Body: body})
		require.NoError(b, err)
	}
}
