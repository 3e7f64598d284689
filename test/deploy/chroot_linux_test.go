package deploy

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// nobody is a user and a group without any rights.
const nobody = 65534

// TestStaticBinaries_StartInAnEmptyRoot starts each program in a root folder that holds nothing but it, as a user without
// rights. It needs root, or a kernel that lets users have namespaces.
func TestStaticBinaries_StartInAnEmptyRoot(t *testing.T) {
	t.Parallel()
	out := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", out+string(filepath.Separator), "./cmd/...")
	build.Dir, build.Env = root(t), append(os.Environ(), "CGO_ENABLED=0")
	output, err := build.CombinedOutput()
	require.NoError(t, err, string(output))
	for _, program := range []string{"api", "worker", "reaper", "pawl"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			binary, err := elf.Open(filepath.Join(out, program))
			require.NoError(t, err)
			libraries, err := binary.ImportedLibraries()
			require.NoError(t, err)
			require.NoError(t, binary.Close())
			require.Empty(t, libraries, "the program is linked dynamically")
			jail, err := os.MkdirTemp("", "pawl-jail-")
			require.NoError(t, err)
			t.Cleanup(func() { _ = os.RemoveAll(jail) })
			require.NoError(t, os.Chmod(jail, 0o755)) //nolint:gosec // a user without rights has to enter it
			require.NoError(t, os.Link(filepath.Join(out, program), filepath.Join(jail, program)))
			help := runIn(t, jail, "/"+program, "-h")
			require.Contains(t, help, "PAWL_")
		})
	}
}

func runIn(t *testing.T, jail, path string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Dir, cmd.Env, cmd.Path = "/", []string{}, path
	attributes := &syscall.SysProcAttr{Chroot: jail}
	if os.Geteuid() == 0 {
		attributes.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	} else {
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Geteuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: nobody, HostID: os.Getegid(), Size: 1}}
	}
	cmd.SysProcAttr = attributes
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	require.NoError(t, cmd.Run(), output.String())
	return output.String()
}
