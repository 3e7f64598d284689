package client_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

func TestABlobIsHeldAgainstItsHash(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`"another"`))
	}))
	defer server.Close()
	api, err := client.New(server.URL, client.Config{})
	require.NoError(t, err)
	_, err = api.Blob(t.Context(), execution.NewID(7), strings.Repeat("0", 64))
	require.ErrorIs(t, err, execution.ErrInternal)
}
