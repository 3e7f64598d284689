package faultpoint_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/faultpoint"
)

func TestHitDoesNothingInAShippedBinary(t *testing.T) {
	if faultpoint.Enabled {
		t.Skip("this binary was built with the tag")
	}
	t.Setenv("PAWL_FAULTPOINT", "claimed:run_start")
	faultpoint.Hit("claimed:run_start")
}

func TestHitKillsATaggedBinaryAtTheNamedCount(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "victim")
	build := exec.Command("go", "build", "-tags", "faultpoint", "-o", binary, "./testdata/victim")
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)

	run := exec.Command(binary)
	run.Env = append(os.Environ(), "PAWL_FAULTPOINT=after_commit:tool_call#2")
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	require.True(t, errors.As(run.Run(), &exit))
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	require.Equal(t, "FAULTPOINT after_commit:tool_call\n", stderr.String())
	require.Equal(t, "first\n", stdout.String())
}
