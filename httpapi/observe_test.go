package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi"
)

// told sends what the observer is told of.
type told chan string

func (o told) Answered(_, route string, _ int, _ time.Duration) { o <- route }
func (told) Streaming(string, int)                              {}

func TestAnAnswerThatIsCutOffIsTold(t *testing.T) {
	t.Parallel()
	observer := make(told, 1)
	server, err := httpapi.New(httpapi.Config{
		Link: noLink{}, Logger: quiet(), Observer: observer,
		Monitoring: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	})
	require.NoError(t, err)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost/monitoring", nil)
	require.PanicsWithValue(t, http.ErrAbortHandler, func() { server.ServeHTTP(httptest.NewRecorder(), request) })
	require.Len(t, observer, 1)
	require.Equal(t, "/monitoring", <-observer)
}
