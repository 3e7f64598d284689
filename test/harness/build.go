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

// builds are the program sets built in this test run, by build tag.
type builds struct {
	mu   sync.Mutex
	dir  string
	sets map[string]built
}

type built struct {
	dir string
	err error
}

// programs is the cache of one test binary: building takes seconds, so it happens once.
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

// Programs builds cmd/... with the given build tag ("" for the programs that are shipped) and returns their folder.
func Programs(tb testing.TB, tag string) string {
	tb.Helper()
	programs.mu.Lock()
	defer programs.mu.Unlock()
	set, ok := programs.sets[tag]
	if !ok {
		set = programs.build(tag)
		programs.sets[tag] = set
	}
	if set.err != nil {
		tb.Fatalf("build the programs: %v", set.err)
	}
	return set.dir
}

func (b *builds) build(tag string) built {
	if b.dir == "" {
		dir, err := os.MkdirTemp("", "pawl-programs-")
		if err != nil {
			return built{err: err}
		}
		b.dir = dir
	}
	root, err := Root()
	if err != nil {
		return built{err: err}
	}
	dir := filepath.Join(b.dir, "tag-"+tag)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return built{err: err}
	}
	cmd := exec.Command("go", "build", "-tags", tag, "-o", dir+string(filepath.Separator), "./cmd/...")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return built{err: fmt.Errorf("go build -tags %q: %w\n%s", tag, err, out)}
	}
	return built{dir: dir}
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
