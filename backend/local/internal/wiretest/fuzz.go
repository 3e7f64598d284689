package wiretest

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
)

// RoundTripper answers without a network.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip is the http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// FuzzOne gives a model any stream. It must answer soundly or fail with a classified error, and its text is what it
// streamed.
func FuzzOne(t *testing.T, stream string, build func(RoundTripper) local.Model) {
	t.Helper()
	model := build(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: io.NopCloser(strings.NewReader(stream)),
		}, nil
	})
	var frames Frames
	request := Request()
	response, err := model.Generate(t.Context(), request, &frames)
	if err != nil {
		var failure *local.Error
		if !errors.As(err, &failure) || failure.Code == "" || failure.Message == "" {
			t.Fatalf("not classified: %v", err)
		}
		return
	}
	if response.FinishReason == "" || response.Text != strings.Join(frames.Deltas(), "") {
		t.Fatalf("%q: %+v", stream, response)
	}
	for _, call := range response.ToolCalls {
		if call.Name == "" {
			t.Fatalf("a call without a name: %q", stream)
		}
	}
}

// Headers is the head of a model's request, as it was sent.
func Headers(t *testing.T, stream string, build func(url string) local.Model, request local.ModelRequest) string {
	t.Helper()
	head := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, false)
		head <- string(dump)
		_, _ = io.WriteString(w, stream)
	}))
	defer server.Close()
	_, err := build(server.URL).Generate(t.Context(), request, &Frames{})
	require.NoError(t, err)
	return <-head
}
