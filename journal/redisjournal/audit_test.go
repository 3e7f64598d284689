package redisjournal

import (
	"context"
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// audited is what an audit of the store finds, by code.
func audited(t *testing.T, store *Store, repair bool) (map[journal.FindingCode][]journal.Finding, journal.Census) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found := map[journal.FindingCode][]journal.Finding{}
	census, err := store.Audit(ctx, repair, func(f journal.Finding) { found[f.Code] = append(found[f.Code], f) })
	require.NoError(t, err)
	return found, census
}

// requireSound asserts that everything stored is as it should be.
func requireSound(t *testing.T, store *Store) {
	t.Helper()
	found, _ := audited(t, store, false)
	require.Empty(t, found)
}

// patient is a store with one execution, and ways to do harm to it.
type patient struct {
	t      *testing.T
	store  *Store
	rdb    *redis.Client
	prefix string
	id     execution.ID
	conv   talk
}

func newPatient(t *testing.T) *patient {
	t.Helper()
	p := &patient{t: t, rdb: redistest.Shared(t).Client(t), prefix: redistest.Prefix(), id: execution.NewID(7)}
	p.conv = talk{execution.LocalCaller().Tenant, "talk"}
	for i := 0; p.conv.id.Partition(p.conv.tenant) != 7; i++ {
		p.conv.id = execution.ConversationID(fmt.Sprint("talk:", i))
	}
	var err error
	p.store, err = New(p.rdb, Config{Prefix: p.prefix})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.store.Close()) })
	_, err = p.store.Reserve(t.Context(), journal.NewExecution{
		ID: p.id, ConversationID: p.conv.id, Caller: execution.LocalCaller(), Fingerprint: "print", Definition: "abc",
		Checkpoint: []byte("0"), Node: "run_start", Request: execution.CreateRequest{Agent: "demo"},
	})
	require.NoError(t, err)
	return p
}

func (p *patient) do(args ...any) {
	p.t.Helper()
	require.NoError(p.t, p.rdb.Do(p.t.Context(), args...).Err())
}

func (p *patient) claim() journal.Claimed {
	p.t.Helper()
	claimed, err := p.store.Claim(p.t.Context(), journal.ClaimRequest{Execution: p.id, Worker: "w", Nonce: rand.Text(), TTL: time.Minute})
	require.NoError(p.t, err)
	return claimed
}

func TestDoctorMendsWhatNeedsNoJudgment(t *testing.T) {
	t.Parallel()
	const other execution.ID = "exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV"
	harms := map[string]struct {
		harm func(p *patient)
		want map[journal.FindingCode]int
	}{
		"nothing": {func(*patient) {}, nil},
		"case A13: a row in no index": {
			func(p *patient) { p.do("ZREM", p.store.keys.handoff(7), string(p.id)) },
			map[journal.FindingCode]int{journal.FindingNotIndexed: 1},
		},
		"a claimed row in no index": {
			func(p *patient) { p.claim(); p.do("ZREM", p.store.keys.due(7), string(p.id)) },
			map[journal.FindingCode]int{journal.FindingNotIndexed: 1},
		},
		"an ended row in no index": {
			func(p *patient) {
				_, err := p.store.Cancel(p.t.Context(), p.id)
				require.NoError(p.t, err)
				p.do("ZREM", p.store.keys.purge(7), string(p.id))
			},
			map[journal.FindingCode]int{journal.FindingNotIndexed: 1},
		},
		"a row in every index": {
			func(p *patient) {
				p.do("ZADD", p.store.keys.due(7), 1, string(p.id))
				p.do("ZADD", p.store.keys.purge(7), 1, string(p.id))
			},
			map[journal.FindingCode]int{journal.FindingIndexedTwice: 2},
		},
		"case A3: running, and nobody holds it or will be called": {
			func(p *patient) {
				p.claim()
				p.do("HDEL", p.store.keys.row(p.id), "fence", "worker", "expiresAtMs")
			},
			map[journal.FindingCode]int{journal.FindingStandstill: 1},
		},
		"listings without the row, and with it where it is not": {
			func(p *patient) {
				tail := string(p.id[tailAt:])
				p.do("ZREM", p.store.keys.tenant(7, "default", ""), tail)
				p.do("ZREM", p.store.keys.caller(7, execution.LocalCaller(), execution.Queued), tail)
				p.do("ZADD", p.store.keys.tenant(7, "*", execution.Failed), 1, tail)
			},
			map[journal.FindingCode]int{journal.FindingNotListed: 2, journal.FindingListedElsewhere: 1},
		},
		"entries of rows that are not there": {
			func(p *patient) {
				p.do("ZADD", p.store.keys.due(7), 1, string(other))
				p.do("ZADD", p.store.keys.cleanup(7), 1, string(other))
				p.do("ZADD", p.store.keys.purge(7), 1, "idem:gone")
				for i := range 3 * auditEntries {
					p.do("ZADD", p.store.keys.tenant(7, "default", execution.Queued), 1, fmt.Sprint(i))
				}
			},
			map[journal.FindingCode]int{journal.FindingEntryWithoutRow: 3 + 3*auditEntries},
		},
		"a conversation that is not found by its id, and one that is not there": {
			func(p *patient) {
				p.do("DEL", p.store.keys.named(7))
				p.do("ZADD", p.store.keys.named(7), 0, "nobody/t")
			},
			map[journal.FindingCode]int{journal.FindingNotListed: 1, journal.FindingEntryWithoutRow: 1},
		},
		"a conversation that forgot its execution": {
			func(p *patient) { p.do("HDEL", p.store.keys.conversation(p.conv), "active") },
			map[journal.FindingCode]int{journal.FindingConversationLost: 1},
		},
	}
	for name, h := range harms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			h.harm(p)
			before := dump(t, p.rdb, p.prefix)
			found, _ := audited(t, p.store, false)
			require.Equal(t, before, dump(t, p.rdb, p.prefix), "without repair nothing is written")
			mended, census := audited(t, p.store, true)
			for _, seen := range []map[journal.FindingCode][]journal.Finding{found, mended} {
				counts := map[journal.FindingCode]int{}
				for code, list := range seen {
					counts[code] = len(list)
				}
				require.Len(t, counts, len(h.want), "%v", seen)
				for code, n := range h.want {
					require.Equal(t, n, counts[code], code)
				}
			}
			for _, list := range mended {
				for _, f := range list {
					require.True(t, f.Mended, f)
				}
			}
			var rows int64
			for _, n := range census.Rows {
				rows += n
			}
			require.EqualValues(t, 1, rows)
			requireSound(t, p.store)
		})
	}
}

func TestDoctorLeavesToPeopleWhatNeedsJudgment(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	key := p.store.keys.conversation(p.conv)
	p.do("HSET", key, "active", "exec_0701ARZ3NDEKTSV4RRFFQ69G5FAV")
	found, _ := audited(t, p.store, true)
	require.Len(t, found[journal.FindingConversationLost], 1)
	require.False(t, found[journal.FindingConversationLost][0].Mended)

	p.do("HSET", key, "active", string(p.id))
	_, err := p.store.Cancel(t.Context(), p.id)
	require.NoError(t, err)
	p.do("HSET", key, "active", string(p.id))
	found, _ = audited(t, p.store, true)
	require.Len(t, found[journal.FindingConversationHeld], 1)

	p.do("HSET", p.store.keys.row(p.id), "state", "dancing")
	found, census := audited(t, p.store, true)
	require.Len(t, found[journal.FindingUnreadable], 1)
	require.Empty(t, census.Rows)
	p.do("DEL", p.store.keys.row(p.id))
	p.do("SET", p.store.keys.row(p.id), "no hash")
	found, _ = audited(t, p.store, true)
	require.Len(t, found[journal.FindingUnreadable], 1)
}

func TestWhatTheDoctorMendedGoesOn(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.claim()
	p.do("HDEL", p.store.keys.row(p.id), "fence", "worker", "expiresAtMs")
	audited(t, p.store, true)
	found, err := p.store.Sweep(t.Context(), 7, 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.Equal(t, journal.ActRequeue, found[0].Action)
	requeued, err := p.store.Requeue(t.Context(), found[0])
	require.NoError(t, err)
	require.Len(t, requeued.Tasks, 1)
	p.claim()
	requireSound(t, p.store)
}
