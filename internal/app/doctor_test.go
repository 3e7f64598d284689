package app

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/inventory"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// examined is what the doctor finds, by code, and counts.
func examined(t *testing.T, cfg config.Doctor, what Examination) (map[journal.FindingCode][]journal.Finding, Diagnosis) {
	t.Helper()
	found := map[journal.FindingCode][]journal.Finding{}
	diagnosis, err := Examine(t.Context(), cfg, what, func(f journal.Finding) { found[f.Code] = append(found[f.Code], f) })
	require.NoError(t, err)
	return found, diagnosis
}

func doctorConfig(server *redistest.Server) config.Doctor {
	return config.Doctor{
		Keys: config.Keys{RedisURL: config.Secret("redis://" + server.Addr())}, Journal: devConfig("").Journal,
	}
}

func TestCaseG9_TheDoctorKnowsEveryKeyThatWorkLeaves(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cfg := devConfig(filepath.Join(t.TempDir(), ".pawl"))
	cfg.RedisURL = config.Secret("redis://" + server.Addr())
	api, _, stop := startDev(t, cfg)
	runDemo(t, api)
	for range 2 { // two of a conversation, the second in line
		_, err := api.Create(t.Context(), "key", execution.CreateRequest{
			Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
			ConversationID: "ticket:1", OnBusy: execution.BusyEnqueue,
		})
		require.NoError(t, err)
	}
	_, err := api.Create(t.Context(), "", execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo"},
		ConversationID: "ticket:1", OnBusy: execution.BusyEnqueue, StartAtMs: time.Now().Add(time.Hour).UnixMilli(),
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		found, diagnosis := examined(t, doctorConfig(server), Examination{})
		require.Empty(t, found, "while it works, too")
		return diagnosis.Workers == 1
	}, jobTimeout, 20*time.Millisecond)
	_, diagnosis := examined(t, doctorConfig(server), Examination{Bytes: true})
	kinds := map[string]inventory.Line{}
	for _, line := range diagnosis.Bytes {
		require.NotEqual(t, inventory.Unknown, line.Name, "%q", line.Names)
		require.NotEmpty(t, line.Leaves)
		require.Positive(t, line.Bytes, line.Name)
		kinds[line.Name] = line
	}
	for _, name := range []string{
		"row", "events", "checkpoints", "conversation", "messages", "index", "listing", "definition", "worker", "idempotency key",
		"waiting", "conversation listing", "tools",
	} {
		require.Contains(t, kinds, name)
	}
	require.EqualValues(t, 3, kinds["row"].Count)
	stop()
	_, diagnosis = examined(t, doctorConfig(server), Examination{})
	require.Zero(t, diagnosis.Workers, "it said that it goes")
	require.EqualValues(t, 1, diagnosis.Rows[execution.Completed])
	require.EqualValues(t, 2, diagnosis.Open)
}

func TestCaseA3_TheDoctorSaysThatNobodyTakesWhatWaits(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	cfg := doctorConfig(server)
	rdb := server.Client(t)
	require.NoError(t, rdb.SAdd(t.Context(), "asynq:queues", "gpu").Err())
	require.NoError(t, rdb.LPush(t.Context(), "asynq:{gpu}:pending", "a", "b").Err())
	found, _ := examined(t, cfg, Examination{Repair: true})
	require.Equal(t, []journal.Finding{{
		Code: FindingQueueNotServed, Key: "gpu", Detail: "2 tasks wait in it and no live worker serves it",
	}}, found[FindingQueueNotServed])
}

func TestTheDoctorSaysWhichRedisDoesNotAnswer(t *testing.T) {
	t.Parallel()
	_, err := Examine(t.Context(), config.Doctor{Keys: config.Keys{RedisURL: "redis://user:secret@127.0.0.1:1"}}, Examination{},
		func(journal.Finding) {})
	require.ErrorContains(t, err, "127.0.0.1:1")
	require.NotContains(t, err.Error(), "secret")
}

func TestTheDoctorReadsWhichResultAReceiptNames(t *testing.T) {
	t.Parallel()
	hash, size, err := storedResult([]byte(`{"v":1,"result":{"callId":"call_0_0","content":"head","blob":{"hash":"0af1","size":5000}}}`))
	require.NoError(t, err)
	require.Equal(t, "0af1", hash)
	require.EqualValues(t, 5000, size)
	hash, _, err = storedResult([]byte(`{"v":1,"result":{"callId":"call_0_0","content":"all of it"}}`))
	require.NoError(t, err)
	require.Empty(t, hash)
	_, _, err = storedResult([]byte(`nonsense`))
	require.Error(t, err)
}

func TestTheDoctorTellsACheckpointOfALaterReleaseFromADamagedOne(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]journal.FindingCode{
		`1 {"v":3}`: journal.FindingNewer, `1 {"v":2,"n":"zz"}`: journal.FindingUnreadable, `what is this`: journal.FindingUnreadable,
		`1 {"v":2,"s":0,"n":"rs"}`: "", `1 {"v":1,"step":0,"node":"run_start","state":{}}`: "",
	} {
		server := redistest.Start(t)
		rdb, id := server.Client(t), execution.NewID(7)
		key := "pawl:{p07}:x:" + string(id)
		require.NoError(t, rdb.HSet(t.Context(), key, "state", "running", "step", "0", "version", "1").Err())
		require.NoError(t, rdb.RPush(t.Context(), key+":checkpoints", stored).Err())
		found, _ := examined(t, doctorConfig(server), Examination{})
		for _, code := range []journal.FindingCode{journal.FindingNewer, journal.FindingUnreadable} {
			require.Equal(t, code == want, len(found[code]) == 1, "%s: %v", stored, found[code])
		}
		require.NoError(t, rdb.HSet(t.Context(), key, "state", "completed").Err())
		found, _ = examined(t, doctorConfig(server), Examination{})
		require.Empty(t, found[want], "what has ended needs nobody to go on with it")
	}
}
