package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// FaultTag is the build tag of programs that carry fault points.
const FaultTag = "faultpoint"

// builds are the program sets of this test run, by build tag.
type builds struct {
	mu   sync.Mutex
	dir  string
	sets map[string]built
}

type built struct {
	dir string
	err error
}

// programs is the cache of one test binary. What several test binaries share is the folder of kept.
var programs = &builds{sets: map[string]built{}}

// Main runs the tests of a package and removes the built programs after them:
//
//	func TestMain(m *testing.M) { harness.Main(m) }
func Main(m *testing.M) {
	if os.Getenv(bridgeVariable) != "" {
		serveBridge()
		return
	}
	code := m.Run()
	programs.mu.Lock()
	dir := programs.dir
	programs.mu.Unlock()
	if dir != "" {
		_ = os.RemoveAll(dir) // in the temporary folder: the system removes what stays
	}
	os.Exit(code)
}

// Programs builds cmd/... with the given build tag ("" for the programs that are shipped) and returns their folder. The
// programs in it stay as they are until the tests end, whatever is built meanwhile.
func Programs(tb testing.TB, tag string) string {
	tb.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	set, ok := programs.sets[tag]
	if !ok {
		set.dir, set.err = programs.build(tag)
		programs.sets[tag] = set
	}
	if set.err != nil {
		tb.Fatalf("build the programs: %v", set.err)
	}
	return set.dir
}

// build builds the programs where they are kept and gives this test run names of its own for what stands there.
func (b *builds) build(tag string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	if b.dir == "" {
		if b.dir, err = os.MkdirTemp("", "pawl-programs-"); err != nil {
			return "", err
		}
	}
	dir, kept := filepath.Join(b.dir, "tag-"+tag), kept(root, tag)
	for _, folder := range []string{dir, kept} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return "", err
		}
	}
	unlock, err := lock(kept + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	// Without what a debugger needs, which no test does, a program is linked in two thirds of the time.
	cmd := exec.Command("go", "build", "-ldflags", "-w", "-tags", tag, "-o", kept+string(filepath.Separator), "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build -tags %q: %w\n%s", tag, err, out)
	}
	return dir, linkAll(kept, dir)
}

// kept is where the programs of a build tag outlive a test run: linking them takes long, and go build does it only when one of
// them is not what it would build. `make clean` removes them.
func kept(root, tag string) string {
	if tag == "" {
		tag = "shipped"
	}
	return filepath.Join(root, "bin", "programs", tag)
}

// linkAll names the files of a folder in another one too. A build puts a new file in place of an old one, so what was named
// before it stays as it was.
func linkAll(from, to string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		if os.Link(source, target) == nil {
			continue
		}
		if err := copyProgram(source, target); err != nil { // folders of two file systems
			return err
		}
	}
	return nil
}

func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// Root is the folder of the module's go.mod.
func Root() (string, error) {
	_, file, _, ok := runtime.Caller(0)
	if !ok {
		return "", fmt.Errorf("find the module: no caller")
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	if !strings.HasPrefix(string(mod), "module github.com/pawl-run/pawl") {
		return "", fmt.Errorf("find the module: %s is another one", dir)
	}
	return dir, nil
}
