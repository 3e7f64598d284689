package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

const anotherID execution.ID = "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6X8"

func TestSteering_PrintsJSON(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"cancel", "pause", "resume", "release"} {
		fake := newFake(execution.View{})
		fake.steered = execution.Steered{Changed: true, View: execution.View{ID: anID, State: execution.Running}}
		got := typeCommand(t, fake, true, nil, command, "--json", string(anID))
		var read steeredJSON
		require.NoError(t, json.Unmarshal([]byte(got.out), &read), got.err)
		require.True(t, read.Changed)
		require.Equal(t, fake.steered.View, read.View)
	}
}

func TestRelease_SaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	fake.steered = execution.Steered{Changed: true, View: execution.View{State: execution.Running}}
	require.Equal(t, result{out: string(anID) + " is running\n"}, typeCommand(t, fake, false, nil, "release", string(anID)))
	fake.steered = execution.Steered{View: execution.View{State: execution.Queued}}
	require.Equal(t, result{out: string(anID) + " is queued: nothing to release\n"}, typeCommand(t, fake, false, nil, "release", string(anID)))
}

func TestFork_SubmitsFromAStep(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Queued})
	got := typeCommand(t, fake, false, nil, "fork", "--step", "4", "--model", "small", "--instructions", "Be brief.", "--key", "k",
		string(anotherID), "Try", "Bergen")
	require.Equal(t, result{out: string(anID) + "\n"}, got)
	got = typeCommand(t, fake, true, nil, "fork", "--step", "0", string(anotherID))
	require.Contains(t, got.err, "pawl watch "+string(anID))
	require.Equal(t, []string{
		`fork ` + string(anotherID) + ` "k" 4 "Try Bergen" "small" "Be brief."`, `fork ` + string(anotherID) + ` "" 0 "" "" ""`,
	}, fake.calls)

	fake.send(&execution.ExecutionQueued{}, &execution.ExecutionCanceled{})
	fake.end()
	require.Equal(t, exitCanceled, typeCommand(t, fake, false, nil, "fork", "--step", "0", "--watch", string(anotherID)).code)
	fake.err = execution.NewAPIError(execution.InvalidRequest, "is no step that can be forked from").In("step")
	got = typeCommand(t, fake, false, nil, "fork", "--step", "9", string(anotherID))
	require.Equal(t, exitNoAnswer, got.code)
	require.Contains(t, got.err, "pawl checkpoints "+string(anotherID))
}

func TestDelete_AsksAtATerminal(t *testing.T) {
	t.Parallel()
	for answer, deletes := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "no\n": false, "": false, "yess\n": false} {
		fake := newFake(execution.View{})
		got := typeCommand(t, fake, true, strings.NewReader(answer), "delete", string(anID))
		require.Contains(t, got.err, "Delete "+string(anID)+" for good? [y/N]")
		if deletes {
			require.Zero(t, got.code, answer)
			require.Equal(t, []string{"delete " + string(anID)}, fake.calls)
			continue
		}
		require.Equal(t, exitNoAnswer, got.code, answer)
		require.Contains(t, got.err, "nothing was done")
		require.Empty(t, fake.calls, answer)
	}
}

func TestDelete_GoesOnPastWhatIsRefused(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	open := execution.NewAPIError(execution.Conflict, "is running").In("id")
	fake.deleteErrs = map[execution.ID]error{anID: open}
	got := typeCommand(t, fake, false, nil, "delete", "--yes", string(anID), string(anotherID))
	require.Equal(t, result{
		code: exitNoAnswer, out: string(anotherID) + " is deleted\n",
		err: "pawl: " + string(anID) + ": is running. End it first: pawl cancel " + string(anID) + "\n",
	}, got)
	got = typeCommand(t, fake, false, nil, "delete", "--yes", "--json", string(anID), string(anotherID))
	require.Equal(t, exitNoAnswer, got.code)
	require.JSONEq(t, `{"deleted": ["`+string(anotherID)+`"], "failed": [{"id": "`+string(anID)+`", "code": "conflict", "detail": "is running"}]}`, got.out)

	fake = newFake(execution.View{})
	fake.deleteErrs = map[execution.ID]error{anID: execution.NewAPIError(execution.Unavailable, "x").Because(errors.New("refused"))}
	got = typeCommand(t, fake, false, nil, "delete", "--yes", string(anID), string(anotherID))
	require.Equal(t, exitNoAnswer, got.code)
	require.Contains(t, got.err, "no API answers")
	require.Len(t, fake.calls, 1, "an API that has gone is not asked again and again")
}

func TestBulk_CountsAndAsksAtATerminal(t *testing.T) {
	t.Parallel()
	found := func() []execution.BulkResult {
		return []execution.BulkResult{
			{Matched: 2, Changed: 1, Executions: []execution.ID{anID}, NextCursor: "a"}, {Matched: 1, Changed: 1, Executions: []execution.ID{anotherID}},
		}
	}
	fake := newFake(execution.View{})
	fake.bulk = append(found(), found()...)
	got := typeCommand(t, fake, true, strings.NewReader("y\n"), "bulk", "cancel", "--agent", "demo")
	require.Equal(t, result{
		out: string(anID) + "\n" + string(anotherID) + "\n",
		err: "Cancel 2 executions? [y/N] 2 canceled; 3 executions pass the filter.\n",
	}, got)
	filter := "{ demo  map[] 0}"
	require.Equal(t, []string{
		"bulk cancel " + filter + " dry=true limit=100 cursor=", "bulk cancel " + filter + " dry=true limit=100 cursor=a",
		"bulk cancel " + filter + " dry=false limit=100 cursor=", "bulk cancel " + filter + " dry=false limit=100 cursor=a",
	}, fake.calls)

	fake = newFake(execution.View{})
	fake.bulk = found()
	got = typeCommand(t, fake, true, strings.NewReader("n\n"), "bulk", "resume", "--agent", "demo")
	require.Equal(t, exitNoAnswer, got.code)
	require.Len(t, fake.calls, 2, "only counted")
	got = typeCommand(t, newFake(execution.View{}), true, nil, "bulk", "resume", "--agent", "demo")
	require.Equal(t, result{err: "Nothing to resume: 0 executions pass the filter.\n"}, got)
}

func TestBulk_InAPipe(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	failed := execution.BulkFailure{ID: anotherID, Code: execution.Conflict, Detail: "is finalizing"}
	fake.bulk = []execution.BulkResult{{Matched: 2, Changed: 1, Executions: []execution.ID{anID}, Failed: []execution.BulkFailure{failed}}}
	got := typeCommand(t, fake, false, nil, "bulk", "resume", "--state", "suspended", "--metadata", "a=b", "--yes", "--json")
	require.Equal(t, exitNoAnswer, got.code)
	require.JSONEq(t, `{"action": "resume", "dryRun": false, "matched": 2, "changed": 1, "executions": ["`+string(anID)+`"],
		"failed": [{"id": "`+string(anotherID)+`", "code": "conflict", "detail": "is finalizing"}]}`, got.out)
	require.Equal(t, []string{"bulk resume {suspended   map[a:b] 0} dry=false limit=100 cursor="}, fake.calls)

	fake = newFake(execution.View{})
	fake.bulk = []execution.BulkResult{{Matched: 2, Changed: 2, Executions: []execution.ID{anID, anotherID}, NextCursor: "more"}}
	got = typeCommand(t, fake, false, nil, "bulk", "cancel", "--state", "queued", "--limit", "2", "--dry-run")
	require.Equal(t, result{
		out: string(anID) + "\n" + string(anotherID) + "\n", err: "2 would be canceled; 2 executions pass the filter.\n",
	}, got)
	require.Equal(t, []string{"bulk cancel {queued   map[] 0} dry=true limit=2 cursor="}, fake.calls)
}

func TestStreamToken_PrintsWhereTheStreamIs(t *testing.T) {
	t.Parallel()
	at := "http://127.0.0.1:8080/v1/executions/" + string(anID) + "/events?token=t%3F1"
	require.Equal(t, result{out: at + "\n"}, typeCommand(t, newFake(execution.View{}), false, nil, "stream-token", string(anID)))
	require.JSONEq(t, `{"token": "t?1", "expiresAtMs": 5, "url": "`+at+`"}`,
		typeCommand(t, newFake(execution.View{}), false, nil, "stream-token", "--json", string(anID)).out)
}
