package redisjournal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// named reads the receipts of these tests: "<hash> <size>", or "none".
func named(receipt []byte) (hash string, size int64, err error) {
	if string(receipt) == "none" {
		return "", 0, nil
	}
	if _, err = fmt.Sscanf(string(receipt), "%s %d", &hash, &size); err != nil {
		err = errors.New("of another release")
	}
	return hash, size, err
}

// results is what an audit of the stored results finds.
func (p *patient) results() (found []journal.Finding) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(p.t, p.store.AuditResults(ctx, named, func(f journal.Finding) { found = append(found, f) }))
	return found
}

// calls has the execution make calls with these receipts; the first one names the value.
func (p *patient) calls(value []byte, receipts ...string) {
	p.t.Helper()
	claimed := p.claim()
	hold := journal.Hold{Execution: p.id, Fence: claimed.Fence}
	commit := journal.Commit{
		Hold: hold, Node: "tool_call", Checkpoint: []byte("1"), Then: journal.Then{Kind: journal.ThenContinue}, Keep: time.Minute,
	}
	record := journal.Record{Hold: hold, State: journal.Done, Blobs: []journal.Blob{{Hash: hashOf(value), Content: value}}}
	for i, receipt := range receipts {
		call := execution.CallID(fmt.Sprintf("call_0_%d", i))
		commit.Plan = append(commit.Plan, journal.Plan{CallID: call, Intent: []byte("{}")})
		record.Calls, record.Receipts = append(record.Calls, call), append(record.Receipts, []byte(receipt))
	}
	_, err := p.store.Commit(p.t.Context(), commit)
	require.NoError(p.t, err)
	_, err = p.store.Record(p.t.Context(), record)
	require.NoError(p.t, err)
}

func hashOf(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

func TestTheDoctorMissesStoredResults(t *testing.T) {
	t.Parallel()
	value := bytes.Repeat([]byte("x"), 5000)
	hash := hashOf(value)
	whole := fmt.Sprintf("%s %d", hash, len(value))
	for name, c := range map[string]struct {
		receipts []string
		harm     func(p *patient)
		code     journal.FindingCode
		says     string
	}{
		"it is there":        {receipts: []string{whole, "none"}},
		"it is gone":         {[]string{"none", whole}, func(p *patient) { p.do("HDEL", p.store.keys.results(p.id), hash) }, journal.FindingResultMissing, "of the call call_0_1, 5000 bytes, is not there"},
		"all are gone":       {[]string{whole}, func(p *patient) { p.do("DEL", p.store.keys.results(p.id)) }, journal.FindingResultMissing, "is not there"},
		"a part is there":    {[]string{whole}, func(p *patient) { p.do("HSET", p.store.keys.results(p.id), hash, "xx") }, journal.FindingResultMissing, "has 2 bytes instead of 5000"},
		"a receipt of later": {[]string{"?"}, nil, journal.FindingUnreadable, "the receipt of the call call_0_0: of another release"},
		"the end has come": {[]string{whole}, func(p *patient) {
			p.do("HSET", p.store.keys.row(p.id), "state", "completed")
			p.do("DEL", p.store.keys.results(p.id))
		}, "", ""},
		"its row was deleted": {[]string{whole}, func(p *patient) { p.do("DEL", p.store.keys.row(p.id), p.store.keys.results(p.id)) }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.calls(value, c.receipts...)
			require.Empty(t, withoutUnreadable(p.results()))
			if c.harm != nil {
				c.harm(p)
			}
			found := p.results()
			if c.code == "" {
				require.Empty(t, found)
				return
			}
			require.Len(t, found, 1)
			require.Equal(t, c.code, found[0].Code)
			require.Contains(t, found[0].Detail, c.says)
			require.False(t, found[0].Mended)
		})
	}
}

func withoutUnreadable(found []journal.Finding) (others []journal.Finding) {
	for _, f := range found {
		if f.Code != journal.FindingUnreadable {
			others = append(others, f)
		}
	}
	return others
}

// A fork reads the results of what it was forked from where they are.
func TestTheDoctorFindsResultsThatAForkWasLent(t *testing.T) {
	t.Parallel()
	value := bytes.Repeat([]byte("x"), 5000)
	p := newPatient(t)
	p.calls(value, fmt.Sprintf("%s %d", hashOf(value), len(value)))
	lender := execution.NewID(7)
	p.do("RENAME", p.store.keys.results(p.id), p.store.keys.results(lender))
	require.Len(t, p.results(), 1)
	p.do("HSET", p.store.keys.row(p.id), "lent", string(lender))
	require.Empty(t, p.results())
}
