package deploy

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"
)

// composition is compose.yaml as the compose tool reads it.
func composition(t *testing.T) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(
		[]string{filepath.Join(root(t), "compose.yaml")}, cli.WithName("pawl"), cli.WithoutEnvironmentResolution,
	)
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

// variables is the environment of a service.
func variables(service types.ServiceConfig) map[string]string {
	values := make(map[string]string)
	for name, value := range service.Environment {
		if value != nil {
			values[name] = *value
		}
	}
	return values
}

func TestCompose_IsWhatItSays(t *testing.T) {
	t.Parallel()
	project := composition(t)
	require.ElementsMatch(t, []string{"redis", "api", "worker", "reaper"}, project.ServiceNames())
	redis := project.Services["redis"]
	require.Subset(t, redis.Command, []string{"--appendonly", "yes", "noeviction"})
	require.Empty(t, redis.Ports, "Redis is for the programs only")
	worker := project.Services["worker"]
	drain, err := time.ParseDuration(variables(worker)["PAWL_DRAIN_TIMEOUT"])
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Duration(*worker.StopGracePeriod), drain+handBack)
	for _, port := range project.Services["api"].Ports {
		require.Equal(t, "127.0.0.1", port.HostIP)
	}
}
