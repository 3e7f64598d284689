package app

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestDemoAgents_AreTheExampleWhereDevListensByDefault(t *testing.T) {
	t.Parallel()
	example, err := os.ReadFile("../../examples/demo/agents.yaml")
	require.NoError(t, err)
	require.Equal(t, string(example), string(DemoAgents("127.0.0.1:8080")))
	require.Equal(t, agent.DemoLookupURL, demoURL("127.0.0.1:8080"))
}

func TestDemoURL_CallsThisMachineWhereTheAPIListensEverywhere(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"127.0.0.1:9090": "127.0.0.1:9090", "localhost:1": "localhost:1", "[::1]:1": "[::1]:1",
		":9090": "127.0.0.1:9090", "0.0.0.0:1": "127.0.0.1:1", "[::]:1": "[::1]:1",
	} {
		require.Equal(t, "http://"+want+"/demo/lookup", demoURL(addr), addr)
	}
}
