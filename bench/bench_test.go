package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/redistest"
)

// workerEnv makes this test binary a worker process.
const workerEnv = "PAWL_BENCH_TEST_WORKER"

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		if err := Worker(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	redistest.Main(m)
}

func testWorker() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), workerEnv+"=1")
	cmd.Stderr = os.Stderr
	return cmd
}

// progress shows a run's lines with the test's own.
type progress struct{ t *testing.T }

func (p progress) Write(line []byte) (int, error) {
	p.t.Log(strings.TrimSpace(string(line)))
	return len(line), nil
}

// TestEverythingIsMeasured runs every measurement at the smallest size: each must find figures, and every metric its
// sample for each pair.
func TestEverythingIsMeasured(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	cfg := Quick(Config{Sweeps: Sweeps(), Worker: testWorker, Progress: progress{t}})
	report, err := Run(ctx, cfg)
	require.NoError(t, err)
	require.Len(t, report.Results, len(Mains())+len(Sweeps()))
	for _, result := range report.Results {
		require.NotEmpty(t, result.Metrics, result.Name)
		for _, m := range result.Metrics {
			require.NotEmpty(t, m.Samples, "%s: %s", result.Name, m.Name)
		}
	}
	requireDocument(t, &report)
}

func requireDocument(t *testing.T, report *Report) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "performance.md")
	require.NoError(t, os.WriteFile(path, []byte("above\n"+beginMark+"stale"+endMark+"\nbelow\n"), 0o600))
	for range 2 { // the second one replaces the first
		require.NoError(t, report.WriteDocument(path, "pawl bench --quick"))
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "above\n"+beginMark))
		require.True(t, strings.HasSuffix(string(text), endMark+"\nbelow\n"))
		require.NotContains(t, string(text), "stale")
		require.Equal(t, len(report.Results), strings.Count(string(text), "pawl bench --quick"))
		require.Contains(t, string(text), "raw Asynq chain: steps")
	}
	picture, err := os.ReadFile(filepath.Join(filepath.Dir(path), "performance.svg"))
	require.NoError(t, err)
	require.Contains(t, string(picture), "<rect")
}

func TestARedisThatHoldsDataIsRefused(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	require.NoError(t, rdb.Set(ctx, "precious", "1", 0).Err())
	_, err := Run(ctx, Quick(Config{RedisURL: server.URL()}))
	require.ErrorContains(t, err, "it holds 1 keys")
	require.Equal(t, "1", rdb.Get(ctx, "precious").Val())
}

func TestANamedRedisIsMeasured(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	report, err := Run(ctx, Quick(Config{RedisURL: server.URL(), Only: []string{"throughput"}, NodesPerTask: []int{1}}))
	require.NoError(t, err)
	require.Greater(t, report.Results[0].Metric("pawl, 1 node per task: turns").Median, 0.0)
	_, err = Run(ctx, Quick(Config{RedisURL: server.URL(), Only: []string{"submit"}, Sweeps: []string{"aof"}}))
	require.ErrorIs(t, err, errOwn)
}

func TestConfigNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for want, cfg := range map[string]Config{
		"Pairs":                      {Pairs: -1},
		`no measurement "speed"`:     {Only: []string{"speed"}},
		`no sweep "wind"`:            {Sweeps: []string{"wind"}},
		"Workers needs Worker":       {Workers: 2},
		"must not be negative":       {Duration: -1},
		"ResultBytes must be at lea": {ResultBytes: 1},
	} {
		require.ErrorContains(t, cfg.Check(), want)
		_, err := Run(context.Background(), cfg)
		require.ErrorContains(t, err, want)
	}
}

func TestSweepsCanRunAlone(t *testing.T) {
	t.Parallel()
	chosen := chosenOf(Config{Only: []string{None}, Sweeps: []string{"delay"}})
	require.Equal(t, []string{"delay"}, names(chosen))
	require.Equal(t, []string{"memory", "backlog"}, names(chosenOf(Config{Only: []string{"backlog", "memory"}})))
}

func TestQuantilesInterpolate(t *testing.T) {
	t.Parallel()
	require.Zero(t, median(nil))
	require.InDelta(t, 2.5, median([]float64{4, 1, 3, 2}), 1e-9)
	require.InDelta(t, 4, quantile([]float64{4, 1, 3, 2}, 1), 1e-9)
}

func TestFiguresAreShort(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0", 0.1234: "0.123", 1.234: "1.23", 12.34: "12.3", 123.4: "123", 1234.5: "1,235", 1_234_567: "1,234,567",
	} {
		require.Equal(t, want, figure(value))
	}
}
