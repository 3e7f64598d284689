package redisserver_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redisserver"
)

func TestFindTakesARedisBeforeAValkey(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	_, err := redisserver.Find()
	require.ErrorIs(t, err, exec.ErrNotFound)
	for _, name := range []string{"valkey-server", "redis-server"} {
		program := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700)) //nolint:gosec // a program is run
		found, err := redisserver.Find()
		require.NoError(t, err)
		require.Equal(t, program, found)
	}
}
