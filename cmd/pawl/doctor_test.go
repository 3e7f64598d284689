package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
)

func TestDoctorEndsWithOneAsLongAsSomethingIsLeft(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	store, err := redisjournal.New(rdb, redisjournal.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	id := execution.NewID(7)
	key := "pawl:{p07}:x:" + string(id) + ":events"
	request := execution.CreateRequest{Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"}}
	checkpoint, node, messages, err := executor.Opening(&agent.Definition{Name: "demo"}, request)
	require.NoError(t, err)
	_, err = store.Reserve(t.Context(), journal.NewExecution{
		ID: id, ConversationID: execution.NewConversationID(7), Caller: execution.LocalCaller(),
		Fingerprint: "print", Definition: "abc", Checkpoint: checkpoint, Node: node, Messages: messages,
		Request: request,
	})
	require.NoError(t, err)
	cfg := config.Doctor{
		Keys: config.Keys{RedisURL: config.Secret("redis://" + server.Addr())},
		Journal: config.Journal{
			HandoffGrace: time.Second, Retention: time.Hour, CleanupTimeout: time.Second, MaxEvents: 100,
		},
	}
	call := func(what app.Examination, asJSON bool) (out string, code int) {
		var printed bytes.Buffer
		err := examine(t.Context(), streams{out: &printed, err: &printed}, cfg, what, asJSON)
		if coded := new(exit); errors.As(err, &coded) {
			return printed.String(), coded.code
		}
		require.NoError(t, err)
		return printed.String(), exitCompleted
	}
	out, code := call(app.Examination{}, false)
	require.Equal(t, exitCompleted, code)
	require.Contains(t, out, "Executions: 1 queued.")
	require.Contains(t, out, "Everything is as it should be.")

	require.NoError(t, rdb.Del(t.Context(), "pawl:{p07}:handoff").Err())
	out, code = call(app.Examination{}, false)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "not_indexed  pawl:{p07}:x:exec_07")
	require.Contains(t, out, "doctor --repair")
	out, code = call(app.Examination{}, true)
	require.Equal(t, exitFailed, code)
	var seen examined
	require.NoError(t, json.Unmarshal([]byte(out), &seen))
	require.Equal(t, 1, seen.Found)
	require.Equal(t, journal.FindingNotIndexed, seen.Findings[0].Code)
	require.EqualValues(t, 1, seen.Rows[execution.Queued])

	out, code = call(app.Examination{Repair: true}, false)
	require.Equal(t, exitCompleted, code)
	require.Contains(t, out, "(mended)")
	redistest.DamageEvent(t, rdb, key, 0, false)
	_, code = call(app.Examination{}, false)
	require.Equal(t, exitCompleted, code)
	out, code = call(app.Examination{Logs: true}, false)
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "unreadable  "+key+"  event 1: what it says cannot be read\n")
	out, code = call(app.Examination{Bytes: true}, false)
	require.Equal(t, exitCompleted, code)
	require.Contains(t, out, "THEY GO")
	require.Contains(t, out, "checkpoints")
}
