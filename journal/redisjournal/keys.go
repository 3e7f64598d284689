package redisjournal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// keyspace builds every key and channel of a Store. All keys of a partition carry its hash tag, {p00} to {p63}, so they
// share a Cluster slot. Scripts derive the keys of a conversation and of its next execution inside the same tag.
type keyspace struct{ prefix string }

// The order of an execution's keys in KEYS; lib.lua's open() binds them by these positions. Those that few scripts need come
// last: a script may be sent without them.
const (
	keyRow = iota
	keyEvents
	keyDue
	keyHandoff
	keyCheckpoints
	keyTools
	keyInbox
	keyReceipts
	keyPurge
	executionKeys
)

// partition is the beginning of every key of partition p.
func (k keyspace) partition(p execution.Partition) string { return k.prefix + ":{" + p.Tag() + "}:" }

// rowMark stands between the beginning of a row's key and its id.
const rowMark = "x:"

// row is a hash: the execution's scalars as fields, payloads as opaque values.
func (k keyspace) row(id execution.ID) string {
	return k.partition(id.Partition()) + rowMark + string(id)
}

// events is a list: the log.
func (k keyspace) events(id execution.ID) string { return k.row(id) + ":events" }

// due, handoff and purge are zsets: member -> ms.
func (k keyspace) due(p execution.Partition) string     { return k.partition(p) + "due" }
func (k keyspace) handoff(p execution.Partition) string { return k.partition(p) + "handoff" }
func (k keyspace) purge(p execution.Partition) string   { return k.partition(p) + "purge" }

// cleanup is a zset of terminal rows whose delegation is not cleaned up: id -> ms of their end.
func (k keyspace) cleanup(p execution.Partition) string { return k.partition(p) + "cleanup" }

// outside is a zset of rows that have something to undo outside: id -> ms since when.
func (k keyspace) outside(p execution.Partition) string { return k.partition(p) + "outside" }

// index is the zset that a Due names.
func (k keyspace) index(p execution.Partition, name string) string { return k.partition(p) + name }

// member is the key that an index's member stands for: a row, or an idempotency key.
func (k keyspace) member(p execution.Partition, member string) string {
	if strings.HasPrefix(member, keyMemberPrefix) {
		return k.partition(p) + member
	}
	return k.partition(p) + rowMark + member
}

// lock is a string: until when (ms) a partition that was swept to the end is left alone.
func (k keyspace) lock(p execution.Partition) string { return k.partition(p) + "sweep" }

// talk is a conversation: an id is its tenant's own.
type talk struct {
	tenant string
	id     execution.ConversationID
}

// talkMark stands between the beginning of a conversation's key and its name.
const talkMark = "conv:"

// conversation is a hash; messages, a list, and waiting, a zset, stand beside it. Its name is journal.ConversationName. A
// client may choose an id with colons: they are written %3a, so that no conversation's key is another one's list. lib.lua
// does the same with the name that a row holds.
func (k keyspace) conversation(c talk) string {
	return k.partition(c.id.Partition(c.tenant)) + talkMark + escapeColons(journal.ConversationName(c.tenant, c.id))
}

func escapeColons(name string) string { return strings.ReplaceAll(name, ":", "%3a") }

func (k keyspace) messages(c talk) string { return k.conversation(c) + ":messages" }

func (k keyspace) waiting(c talk) string { return k.conversation(c) + ":waiting" }

// tailAt is where the tail of an id begins: what of it is not the same for every execution of a partition.
const tailAt = len("exec_00")

// tenant is a zset, the listing index of a tenant in one partition: tail of an id -> ms of creation. With a state it lists
// the executions in that state; completed has none. That of execution.AllTenants lists everybody's. lib.lua builds the
// same names.
func (k keyspace) tenant(p execution.Partition, tenant string, state execution.State) string {
	return k.partition(p) + "tenant:" + string(state) + ":" + tenant
}

// caller is the same for one caller.
func (k keyspace) caller(p execution.Partition, scope execution.CallerScope, state execution.State) string {
	return fmt.Sprintf("%scaller:%s:%d:%s:%s", k.partition(p), state, len(scope.Tenant), scope.Tenant, scope.Subject)
}

// executions is a zset, as tenant: a conversation's executions, once there are two. The first is named in its hash.
func (k keyspace) executions(c talk) string { return k.conversation(c) + ":executions" }

// idempotency is a hash: execution, fingerprint. Its partition comes from the key alone.
func (k keyspace) idempotency(scope execution.CallerScope, key string) string {
	return k.partition(execution.KeyPartition(scope, key)) + keyMember(scope, key)
}

// keyMember is the suffix of an idempotency key's entry and its member in the purge index.
func keyMember(scope execution.CallerScope, key string) string {
	return keyMemberPrefix + digest(scope.String()+"\x00"+key)
}

const keyMemberPrefix = "idem:"

// definition is a string: an agent's definition by its hash.
func (k keyspace) definition(hash string) string { return k.prefix + ":def:" + hash }

// feed is the channel of an execution, everyFeed the pattern of all of them, requests the channel of a worker.
func (k keyspace) feed(id execution.ID) string { return k.feeds() + string(id) }

func (k keyspace) everyFeed() string { return k.feeds() + "*" }

func (k keyspace) feeds() string { return k.prefix + ":feed:" }

func (k keyspace) requests(id journal.WorkerID) string { return k.prefix + ":requests:" + string(id) }

// execution lists an execution's keys as scripts get them. Beside the row stand events, a list, index = sequence - 1, of
// "<ms> <payload>"; checkpoints, a list, index = step, of "<ms>+<held> <payload>" or
// "<ms> <payload>": held ms before its write the claim was given under which that was done; tools, a hash: the ledger, <call>:intent, <call>:started (a fence) and
// <call>:receipt; inbox, a hash: request id -> payload; receipts, a hash: operation:<id> -> "<sequence> <receipt>",
// request:<id> -> operation id; results, a hash: see results. Of a row that has ended, the fields that are long stand behind
// the last checkpoint, as name and value.
func (k keyspace) execution(id execution.ID) []string { return k.first(id, executionKeys) }

// first lists the first n of an execution's keys.
func (k keyspace) first(id execution.ID, n int) []string {
	partition := k.partition(id.Partition())
	row := len(partition) + len(rowMark) + len(id)
	// One piece of memory holds all of them: every call of a step builds them.
	parts := [executionKeys]struct {
		ofRow bool
		tail  string
	}{
		keyRow: {true, ""}, keyEvents: {true, ":events"}, keyDue: {false, "due"}, keyHandoff: {false, "handoff"},
		keyCheckpoints: {true, ":checkpoints"}, keyTools: {true, ":tools"}, keyInbox: {true, ":inbox"},
		keyReceipts: {true, ":receipts"}, keyPurge: {false, "purge"},
	}
	var all strings.Builder
	all.Grow(n*row + len(":events:checkpoints:tools:inbox:receipts"))
	keys := make([]string, n)
	for i, part := range parts[:n] {
		from := all.Len()
		all.WriteString(partition)
		if part.ofRow {
			all.WriteString(rowMark)
			all.WriteString(string(id))
		}
		all.WriteString(part.tail)
		keys[i] = all.String()[from:]
	}
	return keys
}

// results is a hash: SHA-256 in hex -> a large value that a receipt in tools names. Scripts derive it from the row's key.
func (k keyspace) results(id execution.ID) string { return k.row(id) + ":results" }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
