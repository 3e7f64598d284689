package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/bench"
)

func TestBenchPrintsWhatItMeasured(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code := run(ctx, []string{"bench", "--quick", "--only", "throughput", "--nodes-per-task", "1", "--json"},
		streams{in: strings.NewReader(""), out: &out, err: &errs}, nil)
	require.Equal(t, exitCompleted, code, errs.String())
	var report bench.Report
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Positive(t, report.Results[0].Metric("pawl, 1 node per task: steps").Median)
}

func TestBenchRefusesNamesItDoesNotKnow(t *testing.T) {
	t.Parallel()
	var out, errs bytes.Buffer
	code := run(context.Background(), []string{"bench", "--sweep", "wind"},
		streams{in: strings.NewReader(""), out: &out, err: &errs}, nil)
	require.Equal(t, exitUsage, code)
	require.Contains(t, errs.String(), `no sweep "wind"`)
}

func TestBenchChecksGoalsOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, check := range []bool{false, true} {
		var out, errs bytes.Buffer
		// A worker with one slot misses its goals, unless the machine is so busy that the plain chain does no better.
		code := run(ctx, []string{
			"bench", "--pairs", "1", "--duration", "300ms", "--warmup", "50ms", "--concurrency", "1", "--chains", "1",
			"--only", "throughput", "--nodes-per-task", "1", "--check=" + strconv.FormatBool(check),
		}, streams{in: strings.NewReader(""), out: &out, err: &errs}, nil)
		want := exitCompleted
		if check && strings.Contains(out.String(), "missed") {
			want = exitFailed
		}
		require.Equal(t, want, code, "%s\n%s", out.String(), errs.String())
		require.Equal(t, want == exitFailed, strings.Contains(errs.String(), "goals missed"))
	}
}
