package app

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/a2a"
	"github.com/pawl-run/pawl/internal/telemetry"
)

func remoteDefinition(t *testing.T, text string) *agent.Definition {
	t.Helper()
	catalog, err := agent.Parse("f.yaml", []byte("agents:\n  distant:\n    backend: a2a\n    endpoint: "+text+"\n"))
	require.NoError(t, err)
	definition, _ := catalog.Agent("distant")
	return definition
}

func TestRemoteAgentsAreMadeOnce(t *testing.T) {
	t.Parallel()
	r, err := newRemotes(telemetry.New("worker", "test"), nil)
	require.NoError(t, err)
	defer r.Close()
	r.lookup = func(name string) (string, bool) { return "s3cret", name == "TOKEN" }
	definition := remoteDefinition(t, `{url: "http://a.example", auth: {type: bearer, token: "${TOKEN}"}}`)
	first, err := r.Resolve(definition)
	require.NoError(t, err)
	again, err := r.Resolve(remoteDefinition(t, `{auth: {token: "${TOKEN}", type: bearer}, url: "http://a.example"}`))
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, "distant", first.AgentID)
	carrier, err := first.Backend()
	require.NoError(t, err)
	require.Equal(t, a2a.Capabilities(), carrier.Capabilities())

	for i := range 2 * maxRemotes {
		_, err := r.Resolve(remoteDefinition(t, fmt.Sprintf(`{url: "http://a.example/%d"}`, i)))
		require.NoError(t, err)
	}
	require.Len(t, r.byHash, maxRemotes)
}

func TestRemoteAgentsNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	r, err := newRemotes(telemetry.New("worker", "test"), nil)
	require.NoError(t, err)
	defer r.Close()
	r.lookup = func(string) (string, bool) { return "", false }
	_, err = r.Resolve(remoteDefinition(t, `{url: "http://a.example", auth: {type: bearer, token: "${TOKEN}"}}`))
	require.EqualError(t, err, `agent "distant": endpoint.auth.token: the environment variable TOKEN is not set`)
	_, err = r.Resolve(&agent.Definition{Name: "near", Backend: agent.BackendLocal})
	require.ErrorContains(t, err, `agent "near" is not remote`)
}
