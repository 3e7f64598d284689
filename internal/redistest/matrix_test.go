package redistest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Case H3: the page for those who run Pawl says on which servers it was run, and names each that make test/stores fetches.
func TestTheMatrixNamesEveryStore(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	names, err := exec.Command("bash", filepath.Join(root, "scripts", "stores.sh"), "--names").Output()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "operations.md"))
	if err != nil {
		t.Fatal(err)
	}
	stores := strings.Fields(string(names))
	if len(stores) == 0 {
		t.Fatal("there are no stores")
	}
	for _, store := range stores {
		if !strings.Contains(string(page), "`"+store+"`") {
			t.Errorf("docs/operations.md does not say what %s was run on", store)
		}
	}
}

func TestAnUnknownStoreIsRefused(t *testing.T) {
	t.Parallel()
	said, err := exec.Command("bash", filepath.Join("..", "..", "scripts", "stores.sh"), "redis-buster").CombinedOutput()
	if err == nil || !strings.Contains(string(said), "redis-buster is none of redis-bookworm") {
		t.Fatalf("got %q, %v", said, err)
	}
}
