package redisvault_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/delegation/redisvault"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func TestTheVault(t *testing.T) {
	t.Parallel()
	delegationtest.RunVault(t, func(t *testing.T) delegation.Vault {
		t.Helper()
		return redisvault.New(redistest.Shared(t).Client(t), redistest.Prefix())
	})
}

// The embedded server's clock does not run by itself: of the suite only that the scripts are taken.
func TestTheScriptsRunOnTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	vault, id := redisvault.New(client, "pawl"), execution.NewID(3)
	stored, err := vault.Create(t.Context(), id, 1, []byte("one"))
	require.NoError(t, err)
	require.Equal(t, "one", string(stored))
	left, err := vault.Forget(t.Context(), id, 1, nil, time.Hour)
	require.NoError(t, err)
	require.Equal(t, "one", string(left))
	left, err = vault.Forget(t.Context(), id, 1, left, time.Hour)
	require.NoError(t, err)
	require.Nil(t, left)
	_, err = vault.Create(t.Context(), id, 1, []byte("two"))
	require.ErrorIs(t, err, delegation.ErrLost)
}

// What is revoked must go when memory is full, or nothing would ever become free.
func TestALeaseIsForgottenWhenMemoryIsFull(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	vault, id, other := redisvault.New(client, "pawl"), execution.NewID(3), execution.NewID(4)
	_, err := vault.Create(t.Context(), id, 1, []byte("one"))
	require.NoError(t, err)
	require.NoError(t, client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err = vault.Create(t.Context(), other, 1, []byte("one"))
	require.ErrorContains(t, err, "OOM")
	for _, forgotten := range []execution.ID{id, other} {
		left, err := vault.Forget(t.Context(), forgotten, 1, []byte("one"), time.Hour)
		require.NoError(t, err)
		require.Nil(t, left)
		_, err = vault.Load(t.Context(), forgotten, 1)
		require.ErrorIs(t, err, delegation.ErrLost)
	}
}
