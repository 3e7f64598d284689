package redistest

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/pawl-run/pawl/internal/redisserver"
)

// ProgramVariable names in the environment of the tests the server that they start in place of the one on PATH: another
// release of Redis, or a Valkey.
const ProgramVariable = "PAWL_TEST_REDIS_SERVER"

// Program is the path of the server that the tests start: the one of ProgramVariable, else that of redisserver.Find. Started
// with --sentinel it is a Sentinel, with --cluster-enabled yes a node of a Cluster.
func Program() (string, error) {
	if named := os.Getenv(ProgramVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s: %w", ProgramVariable, err)
		}
		return path, nil
	}
	path, err := redisserver.Find()
	if err != nil {
		return "", fmt.Errorf("a redis-server is needed: run `make test`, which installs it, or install it by hand: %w", err)
	}
	return path, nil
}
