package redisjournal

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// The places in the texts of events that a script fills.
const (
	nodePlace    = "@NODE@"
	workersPlace = "@WORKERS@"
	fromPlace    = "@FROM@"
	toPlace      = "@TO@"
)

// constant is a Lua local with which scripts begin.
type constant struct{ name, literal string }

// prelude is the store's constants: durations in ms, bounds, queues, and the events that scripts write on their own. They
// are part of the source and not arguments, so that no call carries and parses them. Redis keeps the scripts of each
// configuration in use.
func prelude(cfg Config) ([]constant, error) {
	var e encoder
	keys := keyspace{prefix: cfg.Prefix}
	quarantine := journal.QuarantineSuspension(nodePlace, []journal.WorkerID{workersPlace})
	constants := []constant{
		{"ROW_VERSION", rowVersion},
		{"GRACE", luaLiteral(cfg.HandoffGrace.Milliseconds())},
		{"RETENTION", luaLiteral(cfg.Retention.Milliseconds())},
		{"CLEANUP", luaLiteral(cfg.CleanupTimeout.Milliseconds())},
		{"DELEGATE", luaLiteral(cfg.DelegateTimeout.Milliseconds())},
		{"CANCEL_GRACE", luaLiteral(cfg.CancelGrace.Milliseconds())},
		{"LOOK_AGAIN", luaLiteral(cfg.LookAgain.Milliseconds())},
		{"MAX_EVENTS", luaLiteral(cfg.MaxEvents)},
		{"MAX_WAITING", luaLiteral(cfg.MaxWaiting)},
		{"ENOUGH_HISTORY", luaLiteral(journal.ClaimHistoryBytes)},
		{"MAX_CHILDREN", luaLiteral(journal.MaxChildren)},
		{"MAX_PARTS", luaLiteral(journal.MaxParts)},
		{"MAX_INHERITED", luaLiteral(journal.MaxInherited)},
		{"NORMAL_QUEUE", luaLiteral(execution.Normal.Queue())},
		{"TAIL", luaLiteral(tailAt + 1)},
		{"TAG_END", luaLiteral(len(keys.partition(0)))},
		{"ID_AT", luaLiteral(len(keys.partition(0)) + len(rowMark) + 1)},
		{"FEED", luaLiteral(keys.feed(""))},
		{"SUSPECT_QUEUE", luaLiteral(execution.SuspectQueue)},
		{"NEW_SUFFIX", luaLiteral(execution.NewSuffix)},
		{"STARTED_EVENT", luaLiteral(e.event(execution.ExecutionStarted{}))},
		{"RECLAIMED_EVENT", luaLiteral(e.event(journal.ReclaimedWarning(fromPlace, toPlace)))},
		{"REQUESTED_EVENT", luaLiteral(e.event(execution.CancelRequested{}))},
		{"CANCELED_EVENT", luaLiteral(e.event(execution.ExecutionCanceled{}))},
		{"PAUSED_EVENT", luaLiteral(e.event(journal.SuspendedEvent(journal.PausedSuspension())))},
		{"QUARANTINE_DETAIL", luaLiteral(quarantine.Detail)},
		{"QUARANTINED_EVENT", luaLiteral(e.event(journal.SuspendedEvent(quarantine)))},
	}
	return constants, e.err
}

// luaLiteral writes a number, or a text between quotes: every byte that is not printable ASCII by its decimal code.
func luaLiteral(value any) string {
	text, ok := value.(string)
	if !ok {
		return fmt.Sprint(value)
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, "\\%03d", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
