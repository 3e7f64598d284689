package link_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/memjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

var _ link.RuntimeLink = (*client.Client)(nil)

func TestMain(m *testing.M) {
	redistest.Main(m, func() error { return goleak.Find() })
}

// nowhere takes every task.
type nowhere struct{}

func (nowhere) Enqueue(context.Context, ...execution.Task) error { return nil }

func quiet() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1}))
}

func service(t testing.TB, store journal.Store, change ...func(*link.Config)) *link.Service {
	t.Helper()
	cfg := link.Config{
		Journal: store, Catalog: linktest.Catalog(t), Enqueuer: nowhere{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith,
		Reread: 50 * time.Millisecond, Logger: quiet(),
	}
	for _, f := range change {
		f(&cfg)
	}
	s, err := link.New(cfg)
	require.NoError(t, err)
	return s
}

func memory(t testing.TB) *memjournal.Store {
	t.Helper()
	store, err := memjournal.New(journal.Config{})
	require.NoError(t, err)
	return store
}

// byKey reads an authority from a key "tenant/subject/role".
func byKey(r *http.Request) (execution.Authority, error) {
	key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	part := strings.Split(key, "/")
	if len(part) != 3 {
		return execution.Authority{}, execution.NewAPIError(execution.Unauthenticated, "no such key")
	}
	return execution.Authority{
		Caller: execution.CallerScope{Tenant: part[0], Subject: part[1]}, Role: execution.CallerRole(part[2]),
	}, nil
}

// overHTTP is the link of a client of an API over the service.
func overHTTP(t testing.TB, s *link.Service) func(execution.Authority) link.RuntimeLink {
	t.Helper()
	api, err := httpapi.New(httpapi.Config{Link: s, Authenticate: byKey, Heartbeat: 50 * time.Millisecond, Logger: quiet()})
	require.NoError(t, err)
	server := httptest.NewServer(openapitest.Handler(t, api))
	t.Cleanup(server.Close)
	t.Cleanup(api.Drain)
	return func(a execution.Authority) link.RuntimeLink {
		c, err := client.New(server.URL, client.Config{
			APIKey:     a.Caller.Tenant + "/" + a.Caller.Subject + "/" + string(a.Role),
			MinBackoff: time.Millisecond, MaxBackoff: 50 * time.Millisecond,
		})
		require.NoError(t, err)
		t.Cleanup(c.Close)
		return c
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		store := memory(t)
		return linktest.Harness{As: service(t, store).As, Store: store, Dump: store.Dump, DamageEvent: store.DamageEvent}
	})
}

func TestClient(t *testing.T) {
	t.Parallel()
	linktest.Run(t, func(t *testing.T) linktest.Harness {
		t.Helper()
		store := memory(t)
		return linktest.Harness{As: overHTTP(t, service(t, store)), Store: store, Dump: store.Dump, DamageEvent: store.DamageEvent}
	})
}
