package auth

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFailuresAreForgottenAndTakeBoundedMemory(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_764_420_000, 0)
	f := newTries(maxFailures)
	f.clock = func() time.Time { return now }
	firsts := 0
	for range maxFailures + 10 {
		if _, first := f.add(network(parseAddress("10.0.0.1:1"))); first {
			firsts++
		}
	}
	require.Equal(t, 1, firsts)
	wait, _ := f.add(network(parseAddress("10.0.0.1:2")))
	require.Equal(t, tryWindow, wait)
	now = now.Add(tryWindow)
	wait, _ = f.add(network(parseAddress("10.0.0.1:2")))
	require.Zero(t, wait)
	for i := range 3 * maxAddresses {
		f.add(network(parseAddress(fmt.Sprintf("10.%d.%d.%d:1", i>>16, i>>8&0xff, i&0xff))))
		require.LessOrEqual(t, len(f.seen), maxAddresses)
	}
	now = now.Add(tryWindow)
	f.add(network(parseAddress("10.200.0.1:1")))
	require.Len(t, f.seen, 1, "what is over is dropped first")
	for _, odd := range []string{"", "@", "unix", "[fe80::1%eth0]:1"} {
		f.add(network(parseAddress(odd)))
	}
}
