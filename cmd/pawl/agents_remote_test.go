package main

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/a2a/a2atest"
	"github.com/pawl-run/pawl/execution"
)

func TestAgentsCheck_AsksRemoteAgentsForTheirCard(t *testing.T) {
	peer := a2atest.New(t, a2atest.Completing("unused"))
	t.Setenv("PAWL_TEST_TOKEN", "tok-secret")
	t.Setenv("PAWL_TEST_PEER", peer.URL)
	path := agentFile(t, `agents:
  distant:
    backend: a2a
    endpoint: {url: "${PAWL_TEST_PEER}", auth: {type: bearer, token: "${PAWL_TEST_TOKEN}"}}
`)
	got := typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", path)
	require.Zero(t, got.code, got.err)
	require.Contains(t, got.out, "  a2a    at ${PAWL_TEST_PEER}, with bearer ${PAWL_TEST_TOKEN}\n")
	require.Contains(t, got.out, "PAWL_TEST_TOKEN  set  (agents.distant.endpoint.auth.token)")
	require.Zero(t, peer.Calls(""))

	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", path)
	require.Zero(t, got.code, got.out)
	require.Contains(t, got.out, `["scripted" speaks A2A 0.3.0, `)
	require.Equal(t, 1, peer.Calls(""))
	require.NotContains(t, got.out, "tok-secret")

	peer.Intercept(a2atest.Answering(a2atest.Card, http.StatusUnauthorized, -1))
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", path)
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "[FAILED: the remote agent answered 401 Unauthorized]")
	got = typeCommand(t, newFake(execution.View{}), false, nil, "agents", "check", "--probe", "--json", path)
	require.Contains(t, got.out, `"models": []`)
	require.NotContains(t, got.out, "tok-secret")
}
