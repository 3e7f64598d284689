package redisjournal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Somebody has written to a key of Pawl's what is not Pawl's: the audit names it, and looks through all else.
func TestTheAuditGoesOnBehindAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	for name, victim := range map[string]func(p *patient) (broken, named string){
		"due": func(p *patient) (string, string) { k := p.store.keys.due(7); return k, k },
		"a listing": func(p *patient) (string, string) {
			k := p.prefix + ":{p07}:tenant:queued:" + execution.LocalCaller().Tenant
			return k, k
		},
		"its conversation": func(p *patient) (string, string) {
			return p.store.keys.conversation(p.conv), p.store.keys.row(p.id)
		},
		"its ledger": func(p *patient) (string, string) { k := p.store.keys.row(p.id) + ":tools"; return k, k },
		"its row":    func(p *patient) (string, string) { k := p.store.keys.row(p.id); return k, k },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.do("HSET", p.store.keys.row(p.id)+":tools", "call:receipt", "{}")
			broken, named := victim(p)
			p.do("DEL", broken)
			p.do("SET", broken, "junk")
			p.do("ZADD", p.prefix+":{p63}:due", "1", "exec_6301ARZ3NDEKTSV4RRFFQ69G5FAV") // without a row, in the last place
			found, census := audited(t, p.store, false)
			nothing := func([]byte) (string, int64, error) { return "", 0, nil }
			require.NoError(t, p.store.AuditResults(t.Context(), nothing, func(f journal.Finding) { found[f.Code] = append(found[f.Code], f) }))
			var keys []string
			for _, f := range found[journal.FindingUnreadable] {
				keys = append(keys, f.Key)
			}
			require.Contains(t, strings.Join(keys, " "), named)
			require.NotEmpty(t, found[journal.FindingEntryWithoutRow], "what comes behind is looked at")
			require.Positive(t, census.Open, "what can be counted is")
		})
	}
}
