package queue

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestATallyTellsOfItsLastMinute(t *testing.T) {
	t.Parallel()
	tally := NewTally()
	start := tally.past[0].at
	tally.Step(true)
	tally.Step(false)
	tally.Ended()
	tally.Reclaimed()
	tally.Fenced()
	tally.Waited(0)
	tally.Waited(time.Millisecond)
	tally.Waited(1100 * time.Microsecond)
	tally.Waited(24 * time.Hour)
	require.Equal(t, &Work{
		SpanMs: 5000, Steps: 2, Started: 1, Ended: 1, Reclaims: 1, Fenced: 1, Waits: map[int64]int64{1: 2, 2: 1, 3_600_000: 1},
	}, tally.told(start.Add(5*time.Second)))
	tally.Step(false)
	require.EqualValues(t, 3, tally.told(start.Add(59*time.Second)).Steps)
	require.Equal(t, &Work{SpanMs: 60_000, Steps: 1, Reclaims: 1, Fenced: 1}, tally.told(start.Add(65*time.Second)),
		"what is rare counts since the start")
	for i := range 1000 {
		tally.told(start.Add(66*time.Second + time.Duration(i)*100*time.Millisecond))
	}
	require.LessOrEqual(t, len(tally.past), 17, "it remembers a minute, however often it is asked")
}

func TestWhatAWorkerDidIsToldWithItsPresence(t *testing.T) {
	t.Parallel()
	w := sharedWorld(t)
	tally := NewTally()
	for range 20 {
		tally.Step(true)
		tally.Waited(3 * time.Millisecond)
	}
	w.present(t, PresenceConfig{ID: "one", Tally: tally})
	w.present(t, PresenceConfig{ID: "older"})
	for _, worker := range workersAre(t, w.client(t), func(live []Worker) bool { return len(live) == 2 }) {
		if worker.ID == "older" {
			require.Nil(t, worker.Work, "one that tells nothing is no idle one")
			continue
		}
		require.GreaterOrEqual(t, worker.Work.SpanMs, int64(0))
		worker.Work.SpanMs = 0
		require.Equal(t, &Work{Steps: 20, Started: 20, Waits: map[int64]int64{3: 20}}, worker.Work)
	}
	data, err := w.rdb.Get(context.Background(), workerKey(w.prefix, "one")).Bytes()
	require.NoError(t, err)
	require.Less(t, len(data), 400, "it stays small")
	var stored map[string]any
	require.NoError(t, json.Unmarshal(data, &stored))
	require.EqualValues(t, 1, stored["v"], "what is added changes no meaning")
}
