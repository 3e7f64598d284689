package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// BenchmarkEnter is what a key costs each request.
func BenchmarkEnter(b *testing.B) {
	gate, err := auth.New(redistest.Shared(b).Client(b), auth.Config{KeysConfig: auth.KeysConfig{Prefix: redistest.Prefix()}})
	require.NoError(b, err)
	_, text, err := gate.Keys.Create(b.Context(), auth.NewKey{Tenant: "a", Subject: "b", Role: execution.SubmitRole})
	require.NoError(b, err)
	r := httptest.NewRequest(http.MethodGet, "http://pawl.example/v1/executions", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gate.Enter(r); err != nil {
			b.Fatal(err)
		}
	}
}
