package dashboard_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestAParentLeadsToTheChildrenThatNeedAPerson(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	w := linktest.Claim(t, s.store, id)
	asking, stopped := w.Spawn("call_0_0"), w.Spawn("call_0_1")
	w.AwaitChildren("call_0_0", "call_0_1")
	v := &visitor{site: s}
	require.NotContains(t, v.page(at(id, "")), "Needs a person")
	linktest.Claim(t, s.store, asking).Ask(linktest.Elicitation("question"))
	linktest.Claim(t, s.store, stopped).Suspend(execution.Suspension{Reason: execution.ReasonLimit, Detail: "maxTurns (1)"})
	page := v.page(at(id, ""))
	require.Empty(t, regexp.MustCompile(`<aside [^>]*data-part="facts"[^>]*>(?s:.*)data-part="`).FindString(page),
		"a part in a part would be put where it does not belong when it comes later")
	require.Regexp(t, `Needs a person</dt><dd><a class="id" href="`+at(asking, "")+`"[^>]*>[^<]*</a> other asks: Book it\?<`, page)
	require.Regexp(t, `Needs a person</dt><dd><a class="id" href="`+at(stopped, "")+`"[^>]*>[^<]*</a> other is suspended, limit: maxTurns \(1\)<`, page)
	require.Contains(t, page, `data-again="10000"`, "its own stream says nothing of its children")
	page = v.page(at(asking, ""))
	require.NotContains(t, page, "Needs a person", "the question is on the page itself")
	require.NotContains(t, page, "data-again")
}
