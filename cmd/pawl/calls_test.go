package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestCalls_PrintsATable(t *testing.T) {
	t.Parallel()
	calls := []execution.LedgerEntry{
		{CallID: "call_0_0", Name: "lookup", EffectID: "exec_1:call_0_0", State: execution.CallDone, Recovery: execution.RecoveryIdempotent, PlannedAtMs: atLocal(1), DoneAtMs: atLocal(1) + 240},
		{CallID: "call_0_1", Name: "re\x1bfund", EffectID: "exec_1:call_0_1", State: execution.CallStarted, Recovery: execution.RecoveryUnsafe, OutcomeUnknown: true, PlannedAtMs: atLocal(1)},
	}
	rest := []execution.LedgerEntry{
		{CallID: "call_1_0", Name: "crm", EffectID: "exec_1:call_1_0", State: execution.CallDone, Failed: true, PlannedAtMs: atLocal(2), Arguments: json.RawMessage(`{"a":1}`)},
		{CallID: "call_1_1", Name: "crm", EffectID: "exec_1:call_1_1", State: execution.CallPlanned, PlannedAtMs: atLocal(3)},
	}
	pages := []execution.ToolCallPage{
		{ToolCalls: calls, NextAfter: 9, HasMore: true, Unreadable: []execution.Sequence{8}}, {NextAfter: 1009, HasMore: true}, {ToolCalls: rest, NextAfter: 1020},
	}
	fake := newFake(execution.View{})
	fake.toolCalls = pages
	require.Equal(t, result{err: "Event 8 cannot be read: a call of it is not listed.\n", out: strings.TrimPrefix(`
CALL      TOOL    STATE            RECOVERY    EFFECT           PLANNED              TOOK
call_0_0  lookup  done             idempotent  exec_1:call_0_0  2026-01-31 08:00:01  240ms
call_0_1  refund  outcome unknown  unsafe      exec_1:call_0_1  2026-01-31 08:00:01
call_1_0  crm     failed           -           exec_1:call_1_0  2026-01-31 08:00:02
call_1_1  crm     planned          -           exec_1:call_1_1  2026-01-31 08:00:03
`, "\n")}, typeCommand(t, fake, false, nil, "calls", string(anID)))
	require.Equal(t, []string{"calls 0 100", "calls 9 100", "calls 1009 100"}, fake.calls)

	fake = newFake(execution.View{})
	fake.toolCalls = pages
	got := typeCommand(t, fake, false, nil, "calls", "--after", "3", "--limit", "4", "--json", string(anID))
	require.Equal(t, 4, strings.Count(got.out, "\n"))
	require.Equal(t, []string{"calls 3 4", "calls 9 2", "calls 1009 2"}, fake.calls)
	var read execution.LedgerEntry
	require.NoError(t, json.Unmarshal([]byte(strings.Split(got.out, "\n")[2]), &read))
	require.Equal(t, rest[0], read)

	for _, flag := range []string{"--after", "--limit"} {
		got = typeCommand(t, newFake(execution.View{}), false, nil, "calls", flag, "-1", string(anID))
		require.Equal(t, 2, got.code)
		require.Contains(t, got.err, flag)
	}
}
