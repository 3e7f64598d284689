package dashboard_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
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

// TestThePageOfWhatMovesLooksAgain: of a claim that is renewed and of a place in a queue no event tells.
func TestThePageOfWhatMovesLooksAgain(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	v := &visitor{site: s}
	require.Contains(t, v.page(at(id, "")), `data-again="10000"`)
	require.NotContains(t, v.page(at(id, "/messages")), "data-again")
	w := linktest.Claim(t, s.store, id)
	require.Contains(t, v.page(at(id, "")), `data-again="10000"`)
	w.Ask(linktest.Elicitation("question"))
	require.NotContains(t, v.page(at(id, "")), "data-again", "it waits until an event tells of an answer")
}

// TestWhoMayNotAnswerIsToldSo: a question without a form says why it has none.
func TestWhoMayNotAnswerIsToldSo(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), true)
	id := s.create(s.as("acme", "ann", execution.OperateRole), "hello")
	linktest.Claim(t, s.store, id).Ask(linktest.Elicitation("question"))
	page := s.login("acme", "eve", execution.ReadRole).page(at(id, ""))
	require.Contains(t, page, "Role read answers nothing.")
	require.NotContains(t, page, at(id, "/answer"))
	require.NotContains(t, s.login("acme", "ann", execution.OperateRole).page(at(id, "")), "answers nothing")
}
