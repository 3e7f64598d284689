package redisjournal

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// reply reads the list that a script returned. The first thing that is not as expected is kept as err; what is read after
// it is zero.
type reply struct {
	items []any
	err   error
}

func newReply(value any, err error) (*reply, error) {
	if err != nil {
		return nil, err
	}
	items, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%w: a script returned %T", errEncoding, value)
	}
	return &reply{items: items}, nil
}

func (r *reply) fail(i int, want string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: item %d of a script's reply is no %s", errEncoding, i, want)
	}
}

func (r *reply) has(i int) bool { return i < len(r.items) && r.items[i] != nil }

func (r *reply) text(i int) string {
	if i < len(r.items) {
		if text, ok := r.items[i].(string); ok {
			return text
		}
	}
	r.fail(i, "text")
	return ""
}

func (r *reply) flag(i int) bool { return r.text(i) == "1" }

func (r *reply) number(i int) int64 {
	if i < len(r.items) {
		if number, ok := r.items[i].(int64); ok {
			return number
		}
	}
	value, err := strconv.ParseInt(r.text(i), 10, 64)
	if err != nil {
		r.fail(i, "number")
	}
	return value
}

// count is a number that is not negative; empty is zero.
func (r *reply) count(i int) uint64 {
	text := r.text(i)
	if text == "" {
		return 0
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		r.fail(i, "number")
	}
	return value
}

func (r *reply) usage(i int) execution.Usage {
	usage, err := decodeUsage(r.text(i))
	if err != nil {
		r.fail(i, "usage")
	}
	return usage
}

func (r *reply) list(i int) []any {
	if i < len(r.items) {
		if list, ok := r.items[i].([]any); ok {
			return list
		}
	}
	r.fail(i, "list")
	return nil
}

func (r *reply) texts(i int) []string {
	list := r.list(i)
	texts := make([]string, len(list))
	for n, item := range list {
		text, ok := item.(string)
		if !ok {
			r.fail(i, "list of texts")
		}
		texts[n] = text
	}
	return texts
}

func (r *reply) blobs(i int) [][]byte { return blobs(r.texts(i)) }

func blobs(texts []string) [][]byte {
	blobs := make([][]byte, len(texts))
	for n, text := range texts {
		blobs[n] = []byte(text)
	}
	return blobs
}

// checkpoint is the payload of a stored checkpoint.
func (r *reply) checkpoint(i int) []byte { return decodeCheckpoint(r.text(i)).Data }

// pairs reads a flat hash.
func (r *reply) pairs(i int) map[string]string {
	texts := r.texts(i)
	fields := make(map[string]string, len(texts)/2)
	for n := 0; n+1 < len(texts); n += 2 {
		fields[texts[n]] = texts[n+1]
	}
	return fields
}

// row reads what lib.lua's whole() returns.
func (r *reply) row(i int) journal.Execution {
	inner := &reply{items: r.list(i)}
	row, err := decodeRow(inner)
	if r.err == nil {
		r.err = err
	}
	return row
}

// event reads a stored event and gives it its sequence.
func (r *reply) event(i int, sequence int64) execution.Event {
	event, _ := decodeEvent(r.text(i), execution.Sequence(sequence)) // one that cannot be read says so itself
	return event
}

// tasks reads the lines of lib.lua's tasks().
func (r *reply) tasks(i int) []execution.Task {
	tasks, err := decodeTasks(r.text(i))
	if err != nil && r.err == nil {
		r.err = err
	}
	return tasks
}

func (r *reply) ledger(i int, calls []execution.CallID) []journal.LedgerEntry {
	return r.ledgerOf(r.list(i), calls)
}

func (r *reply) ledgerOf(list []any, calls []execution.CallID) []journal.LedgerEntry {
	entries := make([]journal.LedgerEntry, 0, len(calls))
	for n, call := range calls {
		if n >= len(list) {
			r.fail(n, "ledger entry")
			break
		}
		parts, ok := list[n].([]any)
		if !ok || len(parts) != 3 {
			r.fail(n, "ledger entry")
			break
		}
		entries = append(entries, decodeLedgerEntry(call, parts))
	}
	return entries
}

// decodeLedgerEntry reads intent, mark and receipt; a nil one is not there.
func decodeLedgerEntry(call execution.CallID, parts []any) journal.LedgerEntry {
	entry := journal.LedgerEntry{CallID: call}
	if intent, ok := parts[0].(string); ok {
		entry.State, entry.Intent = journal.Planned, []byte(intent)
	}
	if fence, ok := parts[1].(string); ok {
		entry.State, entry.StartedFence = journal.Started, journal.Fence(fence)
	}
	if receipt, ok := parts[2].(string); ok {
		entry.State, entry.Receipt = journal.Done, []byte(receipt)
	}
	return entry
}

// decodeTasks reads "<execution>\t<step>\t<wake>\t<queue>" lines.
func decodeTasks(lines string) ([]execution.Task, error) {
	if lines == "" {
		return nil, nil
	}
	var tasks []execution.Task
	for line := range strings.SplitSeq(lines, "\n") {
		parts := strings.SplitN(line, "\t", 4)
		if len(parts) != 4 {
			return nil, fmt.Errorf("%w: task %q", errEncoding, line)
		}
		step, err := strconv.ParseUint(parts[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: step of task %q", errEncoding, line)
		}
		wake, err := strconv.ParseUint(parts[2], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: wake of task %q", errEncoding, line)
		}
		tasks = append(tasks, execution.Task{
			Execution: execution.ID(parts[0]), Step: execution.Step(step), Wake: execution.Wake(wake), Queue: parts[3],
		})
	}
	return tasks, nil
}

// decodeCheckpoint reads "<ms> <payload>" and "<ms>+<held> <payload>": held is how long before that the claim was given.
// Anything else comes as it stands, without times: whoever reads payloads refuses it, and it hides nothing else.
func decodeCheckpoint(entry string) journal.StoredCheckpoint {
	stamp, payload, _ := strings.Cut(entry, " ")
	at, held, claimed := strings.Cut(stamp, "+")
	ms, err := strconv.ParseInt(at, 10, 64)
	before := int64(0)
	if err == nil && claimed {
		before, err = strconv.ParseInt(held, 10, 64)
	}
	if err != nil || ms <= 0 || before < 0 || before > ms {
		return journal.StoredCheckpoint{Data: []byte(entry)}
	}
	checkpoint := journal.StoredCheckpoint{Data: []byte(payload), AtMs: ms}
	if claimed {
		checkpoint.ClaimedAtMs = ms - before
	}
	return checkpoint
}

// decodeCommitted reads "<step> <state> <sequence>[ kept]\n<tasks>".
func decodeCommitted(answer string, replayed bool) (journal.Committed, error) {
	head, lines, _ := strings.Cut(answer, "\n")
	head, kept := strings.CutSuffix(head, " kept")
	first, rest, _ := strings.Cut(head, " ")
	state, last, _ := strings.Cut(rest, " ")
	step, failed := strconv.ParseUint(first, 10, 64)
	sequence, err := strconv.ParseUint(last, 10, 64)
	if err = errors.Join(failed, err); err != nil {
		return journal.Committed{}, fmt.Errorf("%w: answer %q: %w", errEncoding, head, err)
	}
	tasks, err := decodeTasks(lines)
	if err != nil {
		return journal.Committed{}, err
	}
	return journal.Committed{
		Step: execution.Step(step), State: execution.State(state), Sequence: execution.Sequence(sequence),
		Tasks: tasks, Kept: kept, Replayed: replayed,
	}, nil
}
