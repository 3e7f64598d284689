package redisjournal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

func (p *patient) logs() (found []journal.Finding) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(p.t, p.store.AuditLogs(ctx, func(f journal.Finding) { found = append(found, f) }))
	return found
}

func TestAnAuditNamesTheEventsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	require.Empty(t, p.logs())
	for n := range 3 * auditLogs {
		p.do("RPUSH", p.store.keys.events(execution.NewID(execution.Partition(n))), "1000 q", "1001 s")
	}
	key := p.store.keys.events(p.id)
	for n := range 2*auditEvents + 49 {
		p.do("RPUSH", key, fmt.Sprintf(`%d w"code":"c","message":"m"`, 1000+n))
	}
	require.Empty(t, p.logs())
	redistest.DamageEvent(t, p.rdb, key, 0, true)
	redistest.DamageEvent(t, p.rdb, key, auditEvents, false)
	p.do("LSET", key, -1, `12 {"type":"tea","secret":1}`)
	require.Equal(t, []journal.Finding{
		{Code: journal.FindingUnreadable, Key: key, Detail: "event 1: its time cannot be read"},
		{Code: journal.FindingUnreadable, Key: key, Detail: "event 101: what it says cannot be read"},
		{Code: journal.FindingUnreadable, Key: key, Detail: "event 250: this release does not know its type"},
	}, p.logs())
	found, _ := audited(t, p.store, true)
	require.Empty(t, found, "a repair has nothing to say of events")

	p.do("DEL", key)
	p.do("SET", key, "no log")
	require.Equal(t, []journal.Finding{
		{Code: journal.FindingUnreadable, Key: key, Detail: "it is no list of events"},
	}, p.logs())
}
