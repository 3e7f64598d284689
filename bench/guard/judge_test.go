package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// report is what benchstat printed about ten pairs with a planted regression: one more round trip for each step, with its
// bytes and allocations, and more time.
const report = `goos: linux
goarch: amd64
pkg: github.com/pawl-run/pawl/bench
,base,,new,,,
,sec/op,CI,sec/op,CI,vs base,P
StepAlone/nodes=1-2,0.000400,3%,0.000520,2%,+30.00%,p=0.000 n=10
StepUnderLoad-2,0.000205,9%,0.000207,8%,~,p=0.912 n=10
geomean,0.00028,,0.00032,,+14.58%,

,base,,new,,,
,trips/step,CI,trips/step,CI,vs base,P
StepAlone/nodes=1-2,4.166,0%,5.166,0%,+24.00%,p=0.000 n=10
StepAlone/nodes=8-2,1.033,0%,1.034,0%,+0.10%,p=0.010 n=10
Gone-2,1.033,0%

,base,,new,,,
,loaded-trips/step,CI,loaded-trips/step,CI,vs base,P
StepUnderLoad-2,2.5,2%,2.9,2%,+16.00%,p=0.000 n=10

,base,,new,,,
,allocs/op,CI,allocs/op,CI,vs base,P
StepAlone/nodes=1-2,415,0%,440,0%,+6.02%,p=0.000 n=10
StepUnderLoad-2,404,0%,390,0%,-3.47%,p=0.000 n=10
Brand/new-2,,,12,0%
`

func TestMoreRoundTripsAndAllocationsFailAndMoreTimeWarns(t *testing.T) {
	t.Parallel()
	compared, changes, err := parse(report)
	require.NoError(t, err)
	require.Equal(t, 7, compared)
	failed, warned := verdict(changes)
	require.Equal(t, []string{
		"StepAlone/nodes=1-2: trips/step 5.166, was 4.166 (+24.0 %)",
		"StepAlone/nodes=1-2: allocs/op 440, was 415 (+6.0 %)",
	}, texts(failed))
	require.Equal(t, []string{
		"StepAlone/nodes=1-2: sec/op 0.00052, was 0.0004 (+30.0 %)",
		"Gone-2: trips/step is not measured any more",
		"StepUnderLoad-2: loaded-trips/step 2.9, was 2.5 (+16.0 %)",
	}, texts(warned))
}

func TestLessThanTheNoiseOfTheClockPasses(t *testing.T) {
	t.Parallel()
	failed, warned := verdict([]change{
		{benchmark: "Step", unit: "trips/step", before: 4.160, now: 4.170},
		{benchmark: "Step", unit: "B/op", before: 28000, now: 28300},
		{benchmark: "Step", unit: "sec/op", before: 2, now: 1},
	})
	require.Empty(t, failed)
	require.Empty(t, warned)
}

func TestWhatBenchstatDoesNotSayIsAnError(t *testing.T) {
	t.Parallel()
	_, _, err := parse(",base,,new,,,\n,B/op,CI,B/op,CI,vs base,P\nStep,many,0%,more,0%,+3.00%,p=0.000 n=10\n")
	require.ErrorContains(t, err, "of Step")
	compared, _, err := parse("goos: linux\n")
	require.NoError(t, err)
	require.Zero(t, compared)
}

func texts(changes []change) (out []string) {
	for _, c := range changes {
		out = append(out, c.String())
	}
	return out
}
