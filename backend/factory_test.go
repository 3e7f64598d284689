package backend_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
)

type factory struct {
	kind   string
	builds int
	err    error
}

func (f *factory) Backend() string { return f.kind }

func (f *factory) Build(backend.Endpoint) (backend.Backend, error) {
	f.builds++
	if f.err != nil {
		return nil, f.err
	}
	return &remote{}, nil
}

type validator struct {
	factory
	valid error
}

func (v *validator) Validate(backend.Endpoint) error { return v.valid }

func TestContractB_Factory(t *testing.T) {
	t.Parallel()
	t.Run("ExecutionBackendFactory", func(t *testing.T) {
		t.Parallel()
		building := &factory{kind: "a2a"}
		require.NoError(t, backend.ValidateEndpoint(building, backend.Endpoint{}))
		require.Equal(t, 1, building.builds, "by default it builds and drops")
		looking := &validator{factory: factory{kind: "b"}, valid: backend.InvalidConfig("baseUrl is missing")}
		registry, err := backend.NewRegistry(building, looking)
		require.NoError(t, err)
		require.Equal(t, []string{"a2a", "b"}, registry.Kinds())

		_, err = registry.Resolve("far", "m", backend.Endpoint{Backend: "b"})
		require.EqualError(t, errors.Unwrap(err), "baseUrl is missing", "just the text")
		var config *backend.ConfigError
		require.ErrorAs(t, err, &config)
		require.Zero(t, looking.builds)
		_, err = registry.Resolve("far", "m", backend.Endpoint{Backend: "c"})
		require.ErrorIs(t, err, backend.ErrUnsupportedBackend)
		require.ErrorContains(t, err, `"far"`)

		agent, err := registry.Resolve("far", "m", backend.Endpoint{Backend: "a2a"})
		require.NoError(t, err)
		require.Equal(t, 2, building.builds)
		first, err := agent.Backend()
		require.NoError(t, err)
		second, err := agent.Backend()
		require.NoError(t, err)
		require.Same(t, first, second, "built once, when it is first needed")
		require.Equal(t, 3, building.builds)
	})
}

func TestRegistryRefusesFactories(t *testing.T) {
	t.Parallel()
	_, err := backend.NewRegistry(&factory{kind: " "})
	require.ErrorContains(t, err, "blank")
	_, err = backend.NewRegistry(&factory{kind: "a"}, &factory{kind: "a"})
	require.ErrorContains(t, err, `"a"`)
}

func TestContractB_Capabilities(t *testing.T) {
	t.Parallel()
	t.Run("execution_capabilities / validate_*", func(t *testing.T) {
		t.Parallel()
		capabilities, err := backend.ResolvedLocal().Capabilities()
		require.NoError(t, err)
		require.Equal(t, backend.Full(), capabilities)

		broken := &validator{factory: factory{kind: "a2a", err: errors.New("no route")}}
		registry, err := backend.NewRegistry(broken)
		require.NoError(t, err)
		agent, err := registry.Resolve("far", "m", backend.Endpoint{Backend: "a2a"})
		require.NoError(t, err)
		far := backend.ResolvedRemote(agent)
		_, err = far.Capabilities()
		require.EqualError(t, err, "execution failed: failed to build backend 'a2a': no route", "build errors surface")
		require.ErrorIs(t, err, broken.err)
		require.ErrorIs(t, far.ValidateRoot(backend.RootRunRequest{}), broken.err)
		_, err = far.ExecuteDelegate(t.Context(), backend.DelegateRunRequest{Policy: backend.DefaultDelegatePolicy()})
		require.ErrorIs(t, err, broken.err)

		broken.err = nil // a failure is not kept
		root := backend.RootRunRequest{AgentID: "far", Decisions: []backend.Decision{{}}, IsContinuation: true}
		require.EqualError(t, far.ValidateRoot(root),
			"execution failed: agent 'far' backend does not support: decisions, continuation")
		require.NoError(t, backend.ResolvedLocal().ValidateRoot(root))
		delegate := backend.DelegateRunRequest{AgentID: "far"}
		_, err = far.ExecuteDelegate(t.Context(), delegate)
		require.EqualError(t, err,
			"execution failed: agent 'far' backend does not support: delegate_persistence, continuation")
		delegate.Policy = backend.DefaultDelegatePolicy()
		_, err = far.ExecuteDelegate(t.Context(), delegate)
		require.EqualError(t, err, "execution failed: backend does not support delegated execution", "dispatched")
		require.Same(t, agent, far.Remote())
	})
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	endpoint, err := backend.DecodeEndpoint([]byte(`{"baseUrl":"https://example.com","auth":{"type":"bearer","token":"s3cret"}}`))
	require.NoError(t, err)
	require.Equal(t, "a2a", endpoint.Backend)
	require.Equal(t, 300*time.Second, endpoint.Timeout)
	require.Equal(t, json.RawMessage(`"s3cret"`), endpoint.Auth.Params["token"])
	encoded, err := json.Marshal(endpoint)
	require.NoError(t, err)
	for _, shown := range []string{string(encoded), fmt.Sprintf("%v %+v %#v %s", endpoint.Auth, endpoint.Auth, endpoint.Auth, endpoint.Auth)} {
		require.NotContains(t, shown, "s3cret")
		require.Contains(t, shown, "bearer")
	}
	for body, want := range map[string]string{
		`{"baseUrl":"https://a","backend":" "}`: "backend is blank",
		`{}`:                                    "baseUrl is missing",
		`{"baseUrl":"https://a"}}`:              "trailing bytes",
		`{"baseUrl":"https://a"} {}`:            "trailing bytes",
		`{"baseUrl":"ftp://a"}`:                 "not an http",
		`{"baseUrl":"https://a","timeoutMs":0}`: "timeoutMs",
		`{"baseUrl":"https://a","timeoutMs":9223372036854775807}`: "timeoutMs",
		`{"baseUrl":"https://a","bearerToken":"x"}`:               "bearerToken",
		`{"baseUrl":"https://a","auth":{"token":"x"}}`:            "auth.type",
		`{"baseUrl":"https://a","auth":{"type":["x"]}}`:           "auth.type",
	} {
		_, err := backend.DecodeEndpoint([]byte(body))
		var config *backend.ConfigError
		require.ErrorAs(t, err, &config, body)
		require.ErrorContains(t, err, want, body)
	}
}
