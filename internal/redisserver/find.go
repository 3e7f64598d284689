package redisserver

import (
	"errors"
	"fmt"
	"os/exec"
)

// Find is the path of the server that stands on PATH: redis-server, else valkey-server. It is an error that wraps
// exec.ErrNotFound when there is neither.
func Find() (string, error) {
	path, err := exec.LookPath("redis-server")
	if err == nil || !errors.Is(err, exec.ErrNotFound) {
		return path, err
	}
	if path, err = exec.LookPath("valkey-server"); err != nil {
		return "", fmt.Errorf("neither redis-server nor valkey-server is on PATH: %w", err)
	}
	return path, nil
}
