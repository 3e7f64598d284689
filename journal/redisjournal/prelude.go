package redisjournal

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// The places in the quarantine's texts that a script fills.
const (
	nodePlace    = "@NODE@"
	workersPlace = "@WORKERS@"
)

// prelude is the store's constants as Lua locals, with which every script begins: durations in ms, bounds, queues, and the
// events that scripts write on their own. They are part of the source and not arguments, so that no call carries and
// parses them. The table of a script's scripts grows by one for each configuration in use.
func prelude(cfg Config) (string, error) {
	var e encoder
	quarantine := journal.QuarantineSuspension(nodePlace, []journal.WorkerID{workersPlace})
	var b strings.Builder
	for _, constant := range []struct {
		name  string
		value any
	}{
		{"GRACE", cfg.HandoffGrace.Milliseconds()},
		{"RETENTION", cfg.Retention.Milliseconds()},
		{"CLEANUP", cfg.CleanupTimeout.Milliseconds()},
		{"CANCEL_GRACE", cfg.CancelGrace.Milliseconds()},
		{"LOOK_AGAIN", cfg.LookAgain.Milliseconds()},
		{"MAX_EVENTS", cfg.MaxEvents},
		{"MAX_WAITING", cfg.MaxWaiting},
		{"ENOUGH_HISTORY", journal.ClaimHistoryBytes},
		{"SUSPECT_QUEUE", execution.SuspectQueue},
		{"NEW_SUFFIX", execution.NewSuffix},
		{"STARTED_EVENT", e.event(execution.ExecutionStarted{})},
		{"RECLAIMED_EVENT", e.event(journal.ReclaimedWarning())},
		{"CANCELED_EVENT", e.event(execution.ExecutionCanceled{})},
		{"PAUSED_EVENT", e.event(journal.SuspendedEvent(journal.PausedSuspension()))},
		{"QUARANTINE_DETAIL", quarantine.Detail},
		{"QUARANTINED_EVENT", e.event(journal.SuspendedEvent(quarantine))},
	} {
		fmt.Fprintf(&b, "local %s = %s\n", constant.name, luaLiteral(constant.value))
	}
	return b.String(), e.err
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
