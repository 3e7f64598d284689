package executor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/execution"
)

// token is what the visitor's calls carry now.
func (v *visitor) token(t *testing.T) execution.Credential {
	t.Helper()
	token, err := v.broker.Token(t.Context(), v.id, delegation.Ref(v.row().Delegation.LeaseRef))
	require.NoError(t, err)
	return token.Value
}

func TestAnMCPServerThatRefusesATokenGetsAnotherOne(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	v := d.visitor(t, delegationtest.User)
	v.calledOnce(t)
	d.issuer.End(t, v.token(t))
	v.to(RunComplete)
	require.Equal(t, 3, strings.Count(results(t, v.world), "files of "+delegationtest.User), results(t, v.world))
	require.EqualValues(t, 2, v.row().Delegation.Revision, "it is in the row")
	require.EqualValues(t, 1, d.issuer.Refreshes.Load())
	require.Equal(t, map[string]bool{"drive_whose": true}, d.offered)
}

// vault is an http tool behind a server that takes the tokens of an issuer, or nobody.
func (d *drive) vault(t *testing.T, nobody bool) (carrying *local.Kit, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		who := d.who(r.Header) //nolint:contextcheck // the test asks for itself
		if nobody || who == "" {
			http.Error(w, "no entry for "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`"files of ` + who + `"`)) // the call reads it
	}))
	t.Cleanup(server.Close)
	client, err := httptool.NewClient(httptool.Config{})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	tool, err := client.New(agent.Tool{
		Name: "vault", Type: agent.ToolHTTP, URL: server.URL, Auth: agent.AuthDelegation, Timeout: time.Minute,
	}, nil)
	require.NoError(t, err)
	return &local.Kit{
		Model: script(calling("vault"), calling("vault", "vault"), calling("vault"), text("end")), Tools: []local.Tool{tool},
	}, calls
}

func TestAnHTTPToolWhoseServerRefusesATokenGetsAnotherOne(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	d.kit, _ = d.vault(t, false)
	v := d.visitor(t, delegationtest.User)
	v.calledOnce(t)
	d.issuer.End(t, v.token(t))
	v.to(RunComplete)
	require.Equal(t, 4, strings.Count(results(t, v.world), "files of "+delegationtest.User), results(t, v.world))
	require.EqualValues(t, 2, v.row().Delegation.Revision)
	require.EqualValues(t, 1, d.issuer.Refreshes.Load(), "once for all calls of the batch")
}

func TestAServerThatTakesNoTokenCostsTheIssuerOne(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	kit, calls := d.vault(t, true)
	d.kit = kit
	v := d.visitor(t, delegationtest.User)
	token := v.token(t)
	v.to(RunComplete)
	said := results(t, v.world)
	require.Equal(t, 4, strings.Count(said, "the server of the tool vault does not take the caller's token: it answered 401"), said)
	require.EqualValues(t, 5, calls.Load(), "one of the calls was sent again")
	require.EqualValues(t, 1, d.issuer.Refreshes.Load())
	require.NotContains(t, said, token.Reveal())
	require.NotContains(t, said, "Bearer")
}
