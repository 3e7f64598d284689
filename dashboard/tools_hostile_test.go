package dashboard_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

// TestNothingOfAToolCallIsMarkup: names, arguments and results are a model's and a tool's, and the page is a person's.
func TestNothingOfAToolCallIsMarkup(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}</textarea></pre>`
	text, err := json.Marshal(hostile)
	require.NoError(t, err)
	deep := strings.Repeat("[", 9000) + strings.Repeat("]", 9000)
	w := linktest.Claim(t, s.store, id)
	w.Replan([]journal.Plan{
		{CallID: "call_0_0", Intent: []byte(`{"arguments":{` + string(text) + `:` + string(text) + `}}`)},
		{CallID: "call_0_1", Intent: []byte(`{"arguments":{"deep":` + deep + `}}`)},
	}, &execution.ToolStarted{CallID: "call_0_0", Name: hostile}, &execution.ToolStarted{CallID: "call_0_1", Name: "deep"})
	w.Receive("call_0_0", `{"content":`+string(text)+`,"isError":true,"errorKind":`+string(text)+`,"arguments":{"a":`+string(text)+`},`+
		`"blob":{"hash":`+string(text)+`,"size":-1}}`, true)
	w.Receive("call_0_1", `{"content":`+deep+`}`, false)
	v := &visitor{site: s}
	for _, tab := range []string{"/tools", "", "/tools?after=0"} {
		response := v.get(at(id, tab))
		require.Equal(t, 200, response.StatusCode)
		policy := response.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.NotContains(t, policy, "unsafe")
		page := v.page(at(id, tab))
		require.Less(t, len(page), 200_000, tab)
		for _, never := range []string{"<script>alert", "<img src=x", "</textarea></pre>"} {
			require.NotContains(t, page, never, tab)
		}
	}
}
