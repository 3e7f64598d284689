//go:build faultpoint

package fault

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// parallelTests is how many tests run at a time: most of their time they wait for a claim to run out.
const parallelTests = "9"

const endTimeout = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	preset("test.parallel", parallelTests)
	preset("test.skip", skipped(harness.NodesPerTask()))
	harness.Main(m)
}

// preset sets a flag of the testing package, unless it was given.
func preset(name, value string) {
	if explicit(name) {
		return
	}
	if err := flag.Set(name, value); err != nil {
		panic(err)
	}
}

func explicit(name string) bool {
	found := false
	flag.Visit(func(f *flag.Flag) { found = found || f.Name == name })
	return found
}

// soak reports whether the long runs are wanted.
func soak() bool { return os.Getenv("SOAK") == "1" }

// agentsFor writes the agents of a test against its tool server.
func agentsFor(tools *harness.ToolServer, yaml string) string {
	return strings.ReplaceAll(yaml, "$TOOLS", tools.URL)
}

// withoutWarnings lists the types of the events but for warnings, which tell of faults.
func withoutWarnings(events []execution.Event) []execution.EventType {
	var types []execution.EventType
	for _, t := range harness.Types(events) {
		if t != execution.TypeWarning {
			types = append(types, t)
		}
	}
	return types
}
