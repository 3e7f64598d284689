package dashboard_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
)

// Events that cannot be read have their lines, nothing of what is stored is on a page, and the other events and calls are.
func TestEventsThatCannotBeReadHideNothingElse(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	s := open(t, rdb, false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	w := linktest.Claim(t, s.store, id)
	w.Plan("call_0_0", "call_0_1") // 3, 4
	w.Receive("call_0_1", `{"callId":"call_0_1","name":"refund","content":1}`, false)
	key := fmt.Sprintf("%s:{p%02d}:x:%s:events", s.prefix, id.Partition(), id)
	redistest.DamageEvent(t, rdb, key, 0, true)
	redistest.DamageEvent(t, rdb, key, 2, false)
	v := &visitor{site: s}

	page := v.page(at(id, ""))
	require.Regexp(t, `<span class="seq">1</span><time title="not known"></time><span class="kind">unreadable</span>`, page)
	require.Regexp(t, `<span class="seq">3</span><time datetime="2\d{3}-[^>]*>[^<]*</time><span class="kind">unreadable</span>`, page)
	require.Contains(t, page, "cannot be read by this one.")
	require.Regexp(t, `<span class="seq">5</span>.*<span class="kind">tool completed</span>`, page)
	require.NotContains(t, page, "1970-01-01", "what has no time is nowhere in time")
	require.NotContains(t, page, "\xff")

	page = v.page(at(id, "/tools"))
	require.Contains(t, page, "Events 1, 3 of this part of the log cannot be read: calls of them are not shown.")
	require.NotContains(t, page, `id="call_0_0"`)
	require.Contains(t, card(t, page, "call_0_1"), `<span class="tag good">done</span>`)

	w.Complete("done")
	page = v.page(at(id, ""))
	require.NotContains(t, page, "1970-01-01")
	require.Contains(t, page, "1 tool call in ")
}
