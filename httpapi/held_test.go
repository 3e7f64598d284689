package httpapi_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
)

// One caller cannot take the connections of all.
func TestACallerHoldsSoManyStreamsAndWaitsOpenAndNoMore(t *testing.T) {
	t.Parallel()
	g := withKeys(t, func(c *httpapi.Config) { c.MaxStreams = 2 })
	ann, _ := g.key("acme", "ann", execution.SubmitRole)
	bob, _ := g.key("acme", "bob", execution.ReadRole)
	one := creating + "/" + string(g.submitAs(ann).ID)
	first, second := g.opened(one+"/events", ann), g.opened("/v1/events", ann)
	require.Equal(t, 200, first.response.StatusCode)
	require.Equal(t, 200, second.response.StatusCode)

	accept := "Accept: text/event-stream"
	for _, got := range []answer{
		g.do(get, one+"/events", "", ann, accept), g.do(get, "/v1/events", "", ann, accept), g.do(get, one+"?wait=10s", "", ann),
	} {
		refused(t, got, 429, execution.Overloaded, "")
		require.NotEmpty(t, got.Header.Get("Retry-After"))
		require.Contains(t, got.body, "PAWL_MAX_STREAMS")
	}
	require.Equal(t, 200, g.do(get, one, "", ann).StatusCode, "what is answered at once is no stream")
	require.Equal(t, 200, g.do(get, one+"/events", "", ann).StatusCode)
	require.Equal(t, 200, g.opened(one+"/events", bob).response.StatusCode, "another caller has its own")

	first.cancel()
	require.Eventually(t, func() bool {
		again := g.opened(one+"/events", ann)
		defer again.cancel()
		return again.response.StatusCode == 200
	}, patience, 20*time.Millisecond)
}

func TestNewRefusesANegativeNumberOfStreams(t *testing.T) {
	t.Parallel()
	_, err := httpapi.New(httpapi.Config{Link: noLink{}, MaxStreams: -1})
	require.ErrorContains(t, err, "MaxStreams")
}
