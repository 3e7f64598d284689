package delegationtest

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
)

// vaultClauses are what every vault must do.
func vaultClauses() map[string]func(*testing.T, delegation.Vault, execution.ID) {
	return map[string]func(*testing.T, delegation.Vault, execution.ID){
		"the first record stays":                                                             firstStays,
		"a record is replaced when it is as it was":                                          replacedAsItWas,
		"a forgotten record is gone, and no other one":                                       forgottenAsItWas,
		"nothing is stored where something or nothing was forgotten, until that is long ago": storedUntilForgotten,
		"what was forgotten keeps nothing from an execution that was born later":             laterOne,
		"one of creating and forgetting is first":                                            createOrForget,
		"one at a time has the lock":                                                         oneLock,
	}
}

// RunVault runs the clauses of a delegation.Vault, each with an execution of its own.
func RunVault(t *testing.T, open func(*testing.T) delegation.Vault) {
	t.Helper()
	for name, clause := range vaultClauses() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clause(t, open(t), execution.NewID(execution.RandomPartition()))
		})
	}
}

const (
	refusal = time.Hour
	born    = int64(1_764_500_000_000) // of the execution
)

func one() []byte { return []byte{1, 0, 0xff, 'o'} }
func two() []byte { return []byte{1, 0, 0xff, 't'} }

func holds(t *testing.T, vault delegation.Vault, id execution.ID, want []byte) {
	t.Helper()
	found, err := vault.Load(t.Context(), id, born)
	require.NoError(t, err)
	require.Equal(t, want, found)
}

func refuses(t *testing.T, vault delegation.Vault, id execution.ID) {
	t.Helper()
	_, err := vault.Create(t.Context(), id, born, two())
	require.ErrorIs(t, err, delegation.ErrLost)
	_, err = vault.Load(t.Context(), id, born)
	require.ErrorIs(t, err, delegation.ErrLost)
	replaced, err := vault.Replace(t.Context(), id, one(), two())
	require.NoError(t, err)
	require.False(t, replaced)
}

func create(t *testing.T, vault delegation.Vault, id execution.ID, record, stored []byte) {
	t.Helper()
	found, err := vault.Create(t.Context(), id, born, record)
	require.NoError(t, err)
	require.Equal(t, stored, found)
}

func forget(t *testing.T, vault delegation.Vault, id execution.ID, was, left []byte) {
	t.Helper()
	found, err := vault.Forget(t.Context(), id, born, was, refusal)
	require.NoError(t, err)
	require.Equal(t, left, found)
}

func firstStays(t *testing.T, vault delegation.Vault, id execution.ID) {
	holds(t, vault, id, nil)
	create(t, vault, id, one(), one())
	create(t, vault, id, two(), one())
	create(t, vault, id, one(), one())
	holds(t, vault, id, one())
	_, err := vault.Create(t.Context(), execution.NewID(1), born, nil)
	require.Error(t, err, "no record is empty")
	require.NotErrorIs(t, err, delegation.ErrLost)
}

func replacedAsItWas(t *testing.T, vault delegation.Vault, id execution.ID) {
	replaced, err := vault.Replace(t.Context(), id, one(), two())
	require.NoError(t, err)
	require.False(t, replaced, "there is none")
	create(t, vault, id, one(), one())
	for _, want := range []bool{true, false} {
		replaced, err = vault.Replace(t.Context(), id, one(), two())
		require.NoError(t, err)
		require.Equal(t, want, replaced)
		holds(t, vault, id, two())
	}
}

func forgottenAsItWas(t *testing.T, vault delegation.Vault, id execution.ID) {
	create(t, vault, id, one(), one())
	forget(t, vault, id, nil, one())
	forget(t, vault, id, two(), one())
	holds(t, vault, id, one())
	for range 2 { // the first answer was lost, perhaps
		forget(t, vault, id, one(), nil)
		refuses(t, vault, id)
	}
	forget(t, vault, id, nil, nil)
}

func storedUntilForgotten(t *testing.T, vault delegation.Vault, id execution.ID) {
	forget(t, vault, id, nil, nil)
	refuses(t, vault, id)
	left, err := vault.Forget(t.Context(), id, born, nil, time.Millisecond)
	require.NoError(t, err)
	require.Nil(t, left)
	require.Eventually(t, func() bool {
		found, err := vault.Load(t.Context(), id, born)
		return err == nil && found == nil
	}, 30*time.Second, time.Millisecond, "the mark goes by itself")
	create(t, vault, id, two(), two())
}

func laterOne(t *testing.T, vault delegation.Vault, id execution.ID) {
	forget(t, vault, id, nil, nil)
	found, err := vault.Load(t.Context(), id, born+1)
	require.NoError(t, err)
	require.Nil(t, found, "there is none yet")
	found, err = vault.Create(t.Context(), id, born+1, one())
	require.NoError(t, err)
	require.Equal(t, one(), found)
	create(t, vault, id, two(), one()) // one that comes late finds the other's
	left, err := vault.Forget(t.Context(), id, born+1, one(), refusal)
	require.NoError(t, err)
	require.Nil(t, left)
	forget(t, vault, id, nil, nil) // of the earlier one, once more
	for _, late := range []int64{born, born + 1} {
		_, err = vault.Create(t.Context(), id, late, two())
		require.ErrorIs(t, err, delegation.ErrLost)
	}
	_, err = vault.Create(t.Context(), execution.NewID(1), born, []byte{0, 'x'})
	require.Error(t, err, "no record looks like a mark")
}

func createOrForget(t *testing.T, vault delegation.Vault, id execution.ID) {
	var wg sync.WaitGroup
	var stored, left atomic.Int64
	for range 8 {
		wg.Go(func() {
			if _, err := vault.Create(t.Context(), id, born, one()); err == nil {
				stored.Add(1)
			} else {
				assert.ErrorIs(t, err, delegation.ErrLost)
			}
		})
		wg.Go(func() {
			found, err := vault.Forget(t.Context(), id, born, nil, refusal)
			assert.NoError(t, err)
			if found != nil {
				left.Add(1)
			}
		})
	}
	wg.Wait()
	if stored.Load() == 0 {
		require.Zero(t, left.Load())
		refuses(t, vault, id)
		return
	}
	require.EqualValues(t, 8, stored.Load(), "what is stored is stored for all")
	require.EqualValues(t, 8, left.Load(), "and was found by all that came to forget it")
	holds(t, vault, id, one())
}

func oneLock(t *testing.T, vault delegation.Vault, id execution.ID) {
	unlock, locked, err := vault.Lock(t.Context(), id, time.Hour)
	require.NoError(t, err)
	require.True(t, locked)
	_, locked, err = vault.Lock(t.Context(), id, time.Hour)
	require.NoError(t, err)
	require.False(t, locked)
	create(t, vault, id, one(), one())
	unlock()
	unlock, locked, err = vault.Lock(t.Context(), id, time.Hour)
	require.NoError(t, err)
	require.True(t, locked)
	unlock()
	holds(t, vault, id, one())
}
