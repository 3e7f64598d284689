package redistest_test

import (
	"context"
	"testing"

	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestDataSurvivesKillAndRestart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	client := server.Client(t)
	ctx := context.Background()
	if err := client.Set(ctx, "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	server.Restart(t)
	if got, err := client.Get(ctx, "k").Result(); err != nil || got != "v" {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestSharedServerAnswers(t *testing.T) {
	t.Parallel()
	if err := redistest.Shared(t).Client(t).Ping(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}
}
