package journaltest

import (
	"testing"

	"github.com/pawl-run/pawl/journal"
)

// Run is the whole suite. open is called once, or more often, for each clause.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range g.clauses {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, newBench(t, open, c.config))
				})
			}
		})
	}
	generated(t, open)
}

// clause is one sentence of the specification.
type clause struct {
	name   string
	run    func(t *testing.T, b *bench)
	config func(*journal.Config) // nil: the suite's own
}

type group struct {
	name    string
	clauses []clause
}

func groups() []group {
	return []group{
		{"reserve", reserveClauses()},
		{"log", logClauses()},
		{"damaged log", damagedLogClauses()},
		{"claim", claimClauses()},
		{"step", stepClauses()},
		{"chain", chainClauses()},
		{"checkpoint", checkpointClauses()},
		{"ledger", ledgerClauses()},
		{"blob", blobClauses()},
		{"contract C", contractClauses()},
		{"interaction", interactionClauses()},
		{"cancel pause resume", steeringClauses()},
		{"take back", takeBackClauses()},
		{"delete", deleteClauses()},
		{"retention and resumption", retentionClauses()},
		{"conversation", conversationClauses()},
		{"child", childClauses()},
		{"cancel of children", orphanClauses()},
		{"cleanup", cleanupClauses()},
		{"delegation", delegationClauses()},
		{"tenants", tenantClauses()},
		{"turn", turnClauses()},
		{"open calls", sealClauses()},
		{"fork", forkClauses()},
		{"recovery", recoveryClauses()},
		{"expiry", expiryClauses()},
		{"list", listClauses()},
		{"inspect", inspectClauses()},
		{"feed", feedClauses()},
		{"push configs", pushClauses()},
	}
}

// generated are the clauses whose list comes from the journal's interfaces and its state table.
func generated(t *testing.T, open Open) {
	t.Helper()
	t.Run("superseded holder", func(t *testing.T) { t.Parallel(); supersededHolder(t, open) })
	t.Run("wrong state", func(t *testing.T) { t.Parallel(); wrongState(t, open) })
	t.Run("lost reply", func(t *testing.T) { t.Parallel(); lostReply(t, open) })
	t.Run("state table", func(t *testing.T) { t.Parallel(); stateTable(t, open) })
	t.Run("forgotten scripts", func(t *testing.T) { t.Parallel(); forgottenScripts(t, open) })
}
