//go:build faultpoint

package fault

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
)

func TestShippedProgramsContainNoFaultPoint(t *testing.T) {
	t.Parallel()
	shipped, tested := harness.Programs(t, ""), harness.Programs(t, harness.FaultTag)
	for _, program := range []string{"api", "worker", "reaper", "pawl"} {
		require.False(t, mentionsFault(t, filepath.Join(shipped, program)), "%s contains a fault point", program)
	}
	for _, program := range []string{"api", "worker"} {
		require.True(t, mentionsFault(t, filepath.Join(tested, program)), "%s lacks its fault points", program)
	}
}

// mentionsFault looks for the text a fault point prints and for its compiled code.
func mentionsFault(t *testing.T, program string) bool {
	t.Helper()
	data, err := os.ReadFile(program)
	require.NoError(t, err)
	symbols, err := exec.Command("go", "tool", "nm", program).Output()
	require.NoError(t, err)
	return bytes.Contains(data, []byte("FAULTPOINT ")) || bytes.Contains(symbols, []byte("internal/faultpoint.Hit"))
}
