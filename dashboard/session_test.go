package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

// TestAFormThatIsSentWithoutASessionLeadsBackToItsPage: it changes nothing, and says so; after the login the same form is taken, once.
func TestAFormThatIsSentWithoutASessionLeadsBackToItsPage(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	v := s.login("acme", "ann", execution.OperateRole)
	id := s.create(s.as("acme", "ann", execution.OperateRole), "hello")
	require.Contains(t, v.page(at(id, "")), "Cancel…")
	gone := &visitor{site: s}
	before := redistest.Dump(t, s.rdb, s.prefix)
	got := gone.send(http.MethodPost, at(id, "/cancel"), url.Values{})
	require.Equal(t, http.StatusSeeOther, got.StatusCode)
	require.Equal(t, "/dashboard/login?"+url.Values{"next": {at(id, "")}, "unsent": {"1"}}.Encode(), got.Header.Get("Location"))
	require.Equal(t, before, redistest.Dump(t, s.rdb, s.prefix))
	page := gone.page(got.Header.Get("Location"))
	require.Contains(t, page, "what you sent was not taken")
	require.Contains(t, page, `name="next" value="`+at(id, "")+`"`)
	require.Equal(t, "/dashboard/login", gone.send(http.MethodPost, "/dashboard/theme", url.Values{}).Header.Get("Location"))
	require.NotContains(t, gone.page("/dashboard/login"), "was not taken")

	for _, done := range []string{"cancel", "unchanged"} {
		got = v.send(http.MethodPost, at(id, "/cancel"), url.Values{})
		require.Equal(t, at(id, "")+"?done="+done, got.Header.Get("Location"))
	}
}
