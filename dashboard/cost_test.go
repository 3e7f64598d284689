package dashboard_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/link/linktest"
)

// commands is how often each command of Redis was called for f, without the ones that ask.
func (s *site) commands(f func()) map[string]int {
	s.t.Helper()
	require.NoError(s.t, s.rdb.ConfigResetStat(s.t.Context()).Err())
	f()
	text, err := s.rdb.Info(s.t.Context(), "commandstats").Result()
	require.NoError(s.t, err)
	calls := map[string]int{}
	for _, line := range regexp.MustCompile(`cmdstat_([a-z|_]+):calls=(\d+)`).FindAllStringSubmatch(text, -1) {
		if line[1] != "config|resetstat" && line[1] != "info" {
			calls[line[1]], err = strconv.Atoi(line[2])
			require.NoError(s.t, err)
		}
	}
	return calls
}

// TestAPageCostsTheSameHoweverManyExecutionsThereAre: the commands of a page are counted by Redis, with 1,000 executions
// and with twenty times as many; with SOAK=1 with a hundred times as many, and nothing that Redis takes 5 ms for.
func TestAPageCostsTheSameHoweverManyExecutionsThereAre(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it loads 20,000 executions")
	}
	s := open(t, redistest.Start(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	suspended := s.create(local, "hello")
	_, err := local.Pause(t.Context(), suspended)
	require.NoError(t, err)
	w := linktest.Claim(t, s.store, s.create(local, "hello"))
	w.Ask(linktest.Elicitation("question"))
	load := func(n int) {
		t.Helper()
		failures := make(chan error, 8)
		for i := range 8 {
			go func() {
				var err error
				for range n / 8 {
					if _, err = local.Create(t.Context(), "", linktest.Request("hello"+strconv.Itoa(i))); err != nil {
						break
					}
				}
				failures <- err
			}()
		}
		for range 8 {
			require.NoError(t, <-failures)
		}
	}
	v := &visitor{site: s}
	paths := []string{
		"/dashboard/", "/dashboard/executions", "/dashboard/executions?state=suspended", at(suspended, ""), at(suspended, "/messages"),
		at(suspended, "/tools"), at(suspended, "/checkpoints"),
	}
	measure := func() (all []map[string]int, took []time.Duration) {
		for _, path := range paths {
			v.page(path) // what is read once only is read
			best := time.Hour
			all = append(all, s.commands(func() {
				start := time.Now()
				v.page(path)
				best = time.Since(start)
			}))
			for range 4 {
				start := time.Now()
				v.page(path)
				best = min(best, time.Since(start))
			}
			took = append(took, best)
		}
		return all, took
	}
	load(1000)
	few, tookFew := measure()
	most := 20_000
	if os.Getenv("SOAK") != "" {
		most = 100_000
		require.NoError(t, s.rdb.ConfigSet(t.Context(), "slowlog-log-slower-than", "5000").Err())
	}
	load(most - 1000)
	require.NoError(t, s.rdb.SlowLogReset(t.Context()).Err())
	many, tookMany := measure()
	slow, err := s.rdb.SlowLogGet(t.Context(), 10).Result()
	require.NoError(t, err)
	if most > 20_000 { // otherwise Redis is not asked for what it takes 5 ms for
		require.Empty(t, slow)
	}
	for i, path := range paths {
		t.Logf("%s: %d commands, %v with 1,000 executions, %v with %d",
			strings.ReplaceAll(path, string(suspended), "{id}"), sum(many[i]), tookFew[i], tookMany[i], most)
		require.Less(t, tookMany[i], 100*time.Millisecond, path)
		// How the newest executions are spread over the partitions is chance: a page may look into one more or less of them.
		require.InEpsilon(t, sum(few[i]), sum(many[i]), 0.05, "%s: %v, %v", path, few[i], many[i])
	}
}

func sum(calls map[string]int) (n int) {
	for _, count := range calls {
		n += count
	}
	return n
}
