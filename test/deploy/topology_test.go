package deploy

import (
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/test/harness"
)

// topology is compose.yaml as plain processes: of each service as many as it has replicas, with its command and its environment.
type topology struct {
	redis   *redistest.Server
	folder  string
	bin     string
	apis    []string
	workers []*harness.Process
}

// start runs what compose.yaml says. Only names of hosts, ports and files are those of this machine.
func start(t *testing.T) *topology {
	t.Helper()
	project := composition(t)
	require.Equal(t, "redis-server", project.Services["redis"].Command[0])
	top := &topology{
		redis: redistest.Start(t, project.Services["redis"].Command[1:]...), folder: t.TempDir(), bin: harness.Programs(t, ""),
	}
	write(t, filepath.Join(top.folder, "agents.yaml"), agents)
	for _, name := range []string{"reaper", "worker", "api"} {
		service := project.Services[name]
		require.NotNil(t, service.Deploy, name)
		require.NotNil(t, service.Deploy.Replicas, name)
		for replica := range *service.Deploy.Replicas {
			top.replica(t, service, replica)
		}
	}
	return top
}

func (top *topology) replica(t *testing.T, service types.ServiceConfig, number int) {
	t.Helper()
	environment := variables(service)
	environment["HOME"] = top.folder
	address, err := url.Parse(environment["PAWL_REDIS_URL"])
	require.NoError(t, err)
	require.Equal(t, "redis", address.Hostname(), "the service of compose.yaml")
	environment["PAWL_REDIS_URL"] = top.redis.URL()
	for _, volume := range service.Volumes {
		if environment["PAWL_AGENTS"] == volume.Target {
			environment["PAWL_AGENTS"] = filepath.Join(top.folder, filepath.Base(volume.Source))
		}
	}
	if addr := environment["PAWL_HTTP_ADDR"]; addr != "" {
		_, port, err := net.SplitHostPort(addr)
		require.NoError(t, err)
		require.EqualValues(t, port, fmt.Sprint(service.Ports[0].Target), "the port that is published")
		environment["PAWL_HTTP_ADDR"] = harness.FreeAddr(t)
		top.apis = append(top.apis, environment["PAWL_HTTP_ADDR"])
	}
	program := strings.TrimPrefix(service.Command[0], "/usr/local/bin/")
	p := harness.Run(t, fmt.Sprintf("%s %d", service.Name, number+1), top.folder,
		filepath.Join(top.bin, program), list(environment), service.Command[1:]...)
	p.WaitLog(startTimeout, started()[program])
	if service.Name == "worker" {
		top.workers = append(top.workers, p)
	}
}

// key makes an API key as the head of compose.yaml says.
func (top *topology) key(t *testing.T, tenant string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(top.bin, "pawl"),
		"keys", "create", "--tenant", tenant, "--subject", "app", "--role", "submit", "--json")
	cmd.Env = []string{"PAWL_REDIS_URL=" + top.redis.URL(), "HOME=" + top.folder}
	output, err := cmd.Output()
	require.NoError(t, err, string(output))
	var made struct {
		Key string `json:"key"`
	}
	require.NoError(t, json.Unmarshal(output, &made), string(output))
	require.NotEmpty(t, made.Key, string(output))
	return made.Key
}

func TestTopologyOfCompose_PassesTheSmokeTest(t *testing.T) {
	t.Parallel()
	top := start(t)
	require.Len(t, top.apis, 2)
	require.Len(t, top.workers, 3)
	smoke(t, deployment{
		apis:       [2]string(top.apis),
		key:        func(tenant string) string { return top.key(t, tenant) },
		killWorker: top.workers[0].Kill,
	})
}
