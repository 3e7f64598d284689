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

// load submits n executions.
func (s *site) load(n int) {
	s.t.Helper()
	local := s.service.As(execution.LocalAuthority())
	failures := make(chan error, 8)
	for range 8 {
		go func() {
			var err error
			for range n / 8 {
				if _, err = local.Create(s.t.Context(), "", linktest.Request("hello")); err != nil {
					break
				}
			}
			failures <- err
		}()
	}
	for range 8 {
		require.NoError(s.t, <-failures)
	}
}

// cost is what a page asked Redis for, and the shortest time it took.
type cost struct {
	calls map[string]int
	took  time.Duration
}

func (v *visitor) costs(paths []string) (all []cost) {
	v.site.t.Helper()
	for _, path := range paths {
		v.page(path) // what is read once only is read
		c := cost{calls: v.site.commands(func() { v.page(path) }), took: time.Hour}
		for range 5 {
			start := time.Now()
			v.page(path)
			c.took = min(c.took, time.Since(start))
		}
		all = append(all, c)
	}
	return all
}

// TestAPageCostsTheSameHoweverManyExecutionsThereAre: the commands of a page are counted by Redis, with 1,000 executions
// and with twenty times as many; with SOAK=1 with a hundred times as many, in less than 100 ms, and nothing that Redis takes 5 ms for.
func TestAPageCostsTheSameHoweverManyExecutionsThereAre(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Start(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	suspended := s.create(local, "hello")
	_, err := local.Pause(t.Context(), suspended)
	require.NoError(t, err)
	linktest.Claim(t, s.store, s.create(local, "hello")).Ask(linktest.Elicitation("question"))
	v := &visitor{site: s}
	paths := []string{
		"/dashboard/", "/dashboard/executions", "/dashboard/executions?state=suspended", "/dashboard/conversations",
		at(suspended, ""), at(suspended, "/messages"), at(suspended, "/tools"), at(suspended, "/checkpoints"),
	}
	most, soak := 20_000, os.Getenv("SOAK") != ""
	if soak {
		most = 100_000
	}
	s.load(1000)
	few := v.costs(paths)
	s.load(most - 1000)
	require.NoError(t, s.rdb.ConfigSet(t.Context(), "slowlog-log-slower-than", "5000").Err())
	require.NoError(t, s.rdb.SlowLogReset(t.Context()).Err())
	many := v.costs(paths)
	slow, err := s.rdb.SlowLogGet(t.Context(), 10).Result()
	require.NoError(t, err)
	for i, path := range paths {
		t.Logf("%s: %d commands, %v with 1,000 executions, %v with %d",
			strings.ReplaceAll(path, string(suspended), "{id}"), sum(many[i].calls), few[i].took, many[i].took, most)
		require.True(t, !soak || many[i].took < 100*time.Millisecond, "%s took %v", path, many[i].took)
		// How the newest executions are spread over the partitions is chance: a page may look into one more or less of them.
		require.InEpsilon(t, sum(few[i].calls), sum(many[i].calls), 0.05, "%s: %v, %v", path, few[i].calls, many[i].calls)
	}
	require.False(t, soak && len(slow) > 0, "%v", slow) // on a busy machine anything may take 5 ms
}

func sum(calls map[string]int) (n int) {
	for _, count := range calls {
		n += count
	}
	return n
}
