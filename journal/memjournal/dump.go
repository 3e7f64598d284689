package memjournal

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// Dump is everything stored, key to value, for tests that compare a before and an after.
func (s *Store) Dump() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]string{}
	for id, r := range s.rows {
		r.dump("x:"+string(id), out)
		out[r.index+":"+string(id)] = strconv.FormatInt(r.atMs, 10)
	}
	for name, c := range s.conversations {
		out["conv:"+name] = fmt.Sprintf("%s %s %q %q %q %v %d %d %d", c.tenant, c.active, c.successor, c.waiting, c.messages,
			c.base, c.from, c.based, c.rows)
	}
	for member, key := range s.keys {
		out[member] = fmt.Sprintf("%+v", *key)
	}
	for hash, definition := range s.definitions {
		out["def:"+hash] = string(definition)
	}
	return out
}

// Indexes is where each execution's entry stands: index to id to score.
func (s *Store) Indexes() map[string]map[string]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]map[string]int64{indexDue: {}, indexHandoff: {}, indexPurge: {}}
	for id, r := range s.rows {
		out[r.index][string(id)] = r.atMs
	}
	return out
}

func (r *row) dump(key string, out map[string]string) {
	row, err := json.Marshal(r.snapshot())
	if err != nil {
		panic(err) // unreachable: the row holds nothing that JSON cannot express
	}
	out[key] = fmt.Sprintf("%s %s %v %v %q %d %t %v %d %t %d %d %d", row, r.fingerprint, r.deadline, r.retention, r.messages,
		r.inherited, r.rollback, r.view,
		r.counter, r.reclaimed, r.runnableMs, r.restMs, r.cancelMs)
	for i, event := range r.events {
		out[fmt.Sprintf("%s:events:%d", key, i+1)] = fmt.Sprintf("%d %s", event.atMs, event.payload)
	}
	out[key+":checkpoints"] = fmt.Sprintf("%v %q %t", r.checkpoints, r.batch, r.readsHistory)
	for call, entry := range r.ledger {
		out[key+":tools:"+string(call)] = fmt.Sprintf("%s %s %q %q", entry.State, entry.StartedFence, entry.Intent, entry.Receipt)
	}
	for request, payload := range r.inbox {
		out[key+":inbox:"+string(request)] = string(payload)
	}
	for hash, content := range r.blobs {
		out[key+":results:"+hash] = string(content)
	}
	if len(r.children) > 0 || len(r.await) > 0 || r.cleanupMs != 0 {
		out[key+":children"] = fmt.Sprintf("%v %q %d", r.children, r.await, r.cleanupMs)
	}
	for name, c := range r.pushes.configs {
		out[key+":push:"+name] = fmt.Sprintf("%q %q", c.config, c.mark)
	}
	if r.pushes.look {
		out["push:"+key] = strconv.FormatInt(r.pushes.atMs, 10)
	}
	out[key+":calls"] = fmt.Sprintf("%+v %+v", r.lastCall, r.lastCommit)
}

// DamageEvent makes a stored event unreadable, its time too or not, for tests. It panics when there is no such event.
func (s *Store) DamageEvent(id execution.ID, n execution.Sequence, timeToo bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored := &s.rows[id].events[n-1]
	stored.payload = []byte("?")
	if timeToo {
		stored.atMs = 0
	}
}
