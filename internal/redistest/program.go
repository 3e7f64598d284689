package redistest

import (
	"fmt"
	"os"
	"os/exec"
)

// ProgramVariable names in the environment of the tests the server that they start in place of the redis-server on PATH:
// another release of Redis, or a Valkey.
const ProgramVariable = "PAWL_TEST_REDIS_SERVER"

// Program is the path of the server that the tests start: the one of ProgramVariable, else the redis-server on PATH. Started
// with --sentinel it is a Sentinel, with --cluster-enabled yes a node of a Cluster.
func Program() (string, error) {
	if named := os.Getenv(ProgramVariable); named != "" {
		path, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("%s: %w", ProgramVariable, err)
		}
		return path, nil
	}
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return "", fmt.Errorf("redis-server is needed: run `make test`, which installs it, or install it by hand: %w", err)
	}
	return path, nil
}
