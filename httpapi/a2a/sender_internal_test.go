package a2a

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"
)

// However many tasks change at once, a host has so many notifications at a time, and all of them come.
func TestNotificationsTakeTurns(t *testing.T) {
	t.Parallel()
	const all = 3 * maxPerHost
	var mu sync.Mutex
	now, most, done := 0, 0, 0
	full, full1 := make(chan struct{}), sync.Once{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		now++
		if most = max(most, now); now == maxPerHost {
			full1.Do(func() { close(full) })
		}
		mu.Unlock()
		<-full
		mu.Lock()
		now--
		done++
		mu.Unlock()
	}))
	t.Cleanup(server.Close)
	s := newSender(guard{local: true}, time.Minute)
	t.Cleanup(s.client.CloseIdleConnections)
	var sending sync.WaitGroup
	errs := make([]error, all)
	for i := range all {
		sending.Go(func() { errs[i] = s.send(t.Context(), sdk.PushConfig{URL: server.URL}, []byte("{}")) })
	}
	sending.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, maxPerHost, most)
	require.Equal(t, all, done)
}

func TestANotificationThatWaitsForItsTurnEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := newSender(guard{local: true}, time.Minute)
	for range maxSending {
		s.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.send(ctx, sdk.PushConfig{URL: "http://127.0.0.1:1"}, []byte("{}")), context.Canceled)
}
