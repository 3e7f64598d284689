package dashboard_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
)

// TestThePageOfAnEndedParentLooksAgainUntilItsChildrenHaveEnded: they are canceled behind its end, of which no stream of its own tells.
func TestThePageOfAnEndedParentLooksAgainUntilItsChildrenHaveEnded(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	id := s.create(local, "hello")
	w := linktest.Claim(t, s.store, id)
	child := w.Spawn("call_0_0")
	w.AwaitChildren("call_0_0")
	_, err := local.Cancel(t.Context(), id)
	require.NoError(t, err)
	v := &visitor{site: s}
	page := v.page(at(id, ""))
	require.Contains(t, page, `<span class="state canceled">canceled</span>`)
	require.Contains(t, page, `data-again="2000"`)
	require.NotContains(t, page, "data-live=", "its stream has ended")
	require.Contains(t, page, "/assets/live.")

	_, err = local.Cancel(t.Context(), child)
	require.NoError(t, err)
	page = v.page(at(id, ""))
	require.NotContains(t, page, "data-again")
	require.NotContains(t, page, "/assets/live.", "nothing will change any more")
}
