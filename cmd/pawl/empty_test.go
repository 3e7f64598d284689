package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestEmptyFlagsAreRefusedAndNothingIsSent(t *testing.T) {
	t.Parallel()
	id := string(anID)
	for _, line := range [][]string{
		{"--state", "", "list"},
		{"--agent", "", "list"},
		{"--conversation", "", "list"},
		{"--metadata", "", "list"},
		{"--updated-since", "", "list"},
		{"--types", "", "events"},
		{"--since", "", "events"},
		{"--agent", "", "bulk", "cancel", "--state", "running", "--yes"},
		{"--state", "", "bulk", "resume", "--agent", "demo", "--yes"},
		{"--conversation", "", "bulk", "cancel", "--agent", "demo", "--yes"},
		{"--metadata", "", "bulk", "cancel", "--agent", "demo", "--yes"},
		{"--key", "", "submit", "demo", "x"},
		{"--conversation", "", "submit", "demo", "x"},
		{"--priority", "", "submit", "demo", "x"},
		{"--max-cost", "", "submit", "demo", "x"},
		{"--limits", "", "submit", "demo", "x"},
		{"--deadline", "", "resume", id},
		{"--instructions", "", "submit", "demo", "x"},
		{"--model", "", "fork", "--step", "1", id},
		{"--request", "", "input", id, "yes"},
		{"--call", "", "input", id, "--approve"},
		{"--write-agents", "", "dev"},
	} {
		fake := newFake(question(execution.Elicitation))
		args := append(append([]string{}, line[2:]...), line[0]+"=")
		got := typeCommand(t, fake, false, nil, args...)
		require.Equal(t, exitUsage, got.code, args)
		require.Equal(t, "pawl: "+line[0]+": the value is empty\n", got.err, args)
		require.Empty(t, got.out, args)
		require.Empty(t, fake.listed)
		require.Empty(t, fake.created)
		require.Empty(t, fake.calls)
		require.Empty(t, fake.inputs)
	}
}

func TestAnEmptyResultIsAResult(t *testing.T) {
	t.Parallel()
	fake := newFake(question(execution.ClientToolResult))
	got := typeCommand(t, fake, false, nil, "input", string(anID), "--result", "", "--call", "call_0_1")
	require.Zero(t, got.code, got.err)
	require.Equal(t, `""`, string(fake.inputs[0].Input.Result))
}
