package httpapi

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/link"
)

type noRuntime struct{}

func (noRuntime) As(execution.Authority) link.RuntimeLink { return nil }

func TestTheRoutesAreTheCallsOfTheDocument(t *testing.T) {
	t.Parallel()
	server, err := New(Config{Link: noRuntime{}, Metrics: http.NotFoundHandler()})
	require.NoError(t, err)
	checker := openapitest.Shared(t)
	routes, calls := map[string]bool{}, map[string]bool{}
	for _, route := range server.echo.Routes() {
		routes[route.Method+" "+regexp.MustCompile(`:([a-z]+)`).ReplaceAllString(route.Path, "{$1}")] = true
	}
	for _, call := range checker.Calls() {
		calls[call.Method+" "+call.Path] = true
	}
	require.Equal(t, sortedNames(calls), sortedNames(routes))
}

func sortedNames(set map[string]bool) string {
	return strings.Join(slices.Sorted(maps.Keys(set)), "\n")
}
