package redistest_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestTheServerOfTheTestsCanBeNamed(t *testing.T) {
	t.Setenv(redistest.ProgramVariable, "/bin/sh")
	if path, err := redistest.Program(); err != nil || path != "/bin/sh" {
		t.Fatalf("got %q, %v", path, err)
	}
	t.Setenv(redistest.ProgramVariable, "/nowhere/redis-server")
	if _, err := redistest.Program(); err == nil || !strings.Contains(err.Error(), redistest.ProgramVariable) {
		t.Fatalf("got %v", err)
	}
}

func TestAClusterIsWholeWhenItIsHandedOut(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	listener := cluster.Masters[0].Client(t).Subscribe(t.Context(), "news")
	t.Cleanup(func() { _ = listener.Close() })
	if _, err := listener.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, master := range cluster.Masters {
		if err := master.Client(t).Publish(t.Context(), "news", master.Addr()).Err(); err != nil {
			t.Fatal(err)
		}
		message, err := listener.ReceiveMessage(t.Context())
		if err != nil || message.Payload != master.Addr() {
			t.Fatalf("got %v, %v", message, err)
		}
	}
}
