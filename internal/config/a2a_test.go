package config

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLoad_ReadsWhatOthersSee(t *testing.T) {
	for _, tc := range []struct {
		want string
		env  []string
	}{
		{"", nil},
		{"", []string{"PAWL_A2A=1"}},
		{"", []string{"PAWL_A2A=1", "PAWL_A2A_URL=https://agents.example.com/pawl", "PAWL_A2A_AGENT=demo"}},
		{"PAWL_A2A_URL: needs PAWL_A2A=1", []string{"PAWL_A2A_URL=https://agents.example.com"}},
		{"PAWL_A2A_AGENT: needs PAWL_A2A=1", []string{"PAWL_A2A_AGENT=demo", "PAWL_A2A=0"}},
		{"PAWL_A2A_PUSH_ALLOW: needs PAWL_A2A=1", []string{"PAWL_A2A_PUSH_ALLOW=10.0.0.0/8"}},
		{"PAWL_A2A_URL: want an address", []string{"PAWL_A2A=1", "PAWL_A2A_URL=agents.example.com"}},
		{"PAWL_A2A_URL: want an address", []string{"PAWL_A2A=1", "PAWL_A2A_URL=https://u:p@agents.example.com"}},
		{"PAWL_A2A_PUSH_ALLOW: want networks by comma", []string{"PAWL_A2A=1", "PAWL_A2A_PUSH_ALLOW=intranet"}},
		{"PAWL_A2A: want 1 or 0", []string{"PAWL_A2A=maybe"}},
	} {
		t.Run(strings.Join(tc.env, " "), func(t *testing.T) {
			clean(t)
			t.Setenv("PAWL_REDIS_URL", "redis://localhost:6379")
			t.Setenv("PAWL_AGENTS", "agents.yaml")
			for _, entry := range tc.env {
				name, value, _ := strings.Cut(entry, "=")
				t.Setenv(name, value)
			}
			var api API
			err := Load(&api)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestNetworks_ReadsNetworksAndAddresses(t *testing.T) {
	t.Parallel()
	var n Networks
	require.NoError(t, n.Decode("10.1.2.3/16, fd00::/8,192.168.0.7"))
	require.Equal(t, Networks{
		netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("192.168.0.7/32"),
	}, n)
}
