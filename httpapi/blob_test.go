package httpapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestAStoredResultIsServedInPartsAndNeverAsAnythingButJSON(t *testing.T) {
	t.Parallel()
	store := memory(t)
	a := serve(t, store)
	id := a.submit().ID
	hash := linktest.Claim(t, store, id).Store(`"0123456789"`)
	path := creating + "/" + string(id) + "/blobs/" + hash
	for _, c := range []struct{ asked, body string }{
		{"bytes=0-3", `"012`}, {"bytes=8-", `789"`}, {"bytes=-2", `9"`}, {"bytes=10-999", `9"`}, {"bytes=-999", `"0123456789"`},
	} {
		got := a.do(get, path, "", "Range: "+c.asked)
		require.Equal(t, 206, got.StatusCode, c.asked)
		require.Equal(t, c.body, got.body)
	}
	for _, asked := range []string{"bytes=12-", "bytes=90000000-", "bytes=3-1", "bytes=0-1,3-4", "bytes=-0", "bytes=x", "lines=1-2", ""} {
		refused(t, a.do(get, path, "", "Range: "+asked), 400, execution.InvalidRequest, "Range")
	}
	refused(t, a.do(get, path, "", "If-Match: x"), 400, execution.InvalidRequest, "If-Match")
	require.Equal(t, 304, a.do(get, path, "", `If-None-Match: "`+hash+`"`).StatusCode)
}
