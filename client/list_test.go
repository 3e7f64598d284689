package client_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestAllGoesThroughThePages(t *testing.T) {
	t.Parallel()
	var asked []string
	page := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.RawQuery)
			_, _ = w.Write([]byte(body))
		}
	}
	c, _ := script(t, page(`{"executions":[{"id":"exec_1"},{"id":"exec_2"}],"nextCursor":"a"}`),
		page(`{"executions":[],"nextCursor":"b"}`), fails(http.StatusBadGateway), page(`{"executions":[{"id":"exec_3"}]}`))
	query := execution.ListQuery{State: execution.Failed, Metadata: map[string]string{"a b": "c"}, UpdatedSinceMs: 7, Limit: 2}
	var ids []execution.ID
	for view, err := range c.All(bounded(t), query) {
		require.NoError(t, err)
		ids = append(ids, view.ID)
	}
	require.Equal(t, []execution.ID{"exec_1", "exec_2", "exec_3"}, ids)
	require.Equal(t, []string{
		"limit=2&metadata.a+b=c&state=failed&updatedSince=7",
		"cursor=a&limit=2&metadata.a+b=c&state=failed&updatedSince=7",
		"cursor=b&limit=2&metadata.a+b=c&state=failed&updatedSince=7",
	}, asked)
}

func TestAllEndsWithAnError(t *testing.T) {
	t.Parallel()
	c, count := script(t, fails(http.StatusForbidden))
	errs := 0
	for _, err := range c.All(bounded(t), execution.ListQuery{}) {
		require.ErrorIs(t, err, execution.ErrForbidden)
		errs++
	}
	require.Equal(t, 1, errs)
	require.EqualValues(t, 1, count.Load())
}
