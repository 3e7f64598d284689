package redisconn

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// oldest is the oldest major version of Redis that Pawl runs on. Valkey began with that one.
const oldest = 7

// ErrUnfit reports a Redis that must not hold a journal. Strict wraps it.
var ErrUnfit = errors.New("this Redis is not fit to hold executions")

// warningsOf says what makes a Redis unfit. What is unknown is not held against it.
func warningsOf(facts Facts) []string {
	var warnings []string
	if major, ok := majorOf(facts.Version); ok && major < oldest {
		warnings = append(warnings, fmt.Sprintf("Redis %s is too old: Pawl needs %d or newer", facts.Version, oldest))
	}
	if policy := facts.MaxMemoryPolicy; policy != Unknown && policy != "noeviction" {
		warnings = append(warnings, fmt.Sprintf(
			"maxmemory-policy is %s: Redis may drop parts of executions; set it to noeviction", policy))
	}
	if warning := durabilityWarning(facts); warning != "" {
		warnings = append(warnings, warning)
	}
	return warnings
}

// durabilityWarning says what a crash may take of what was written; empty when that is a second or less, or unknown.
func durabilityWarning(facts Facts) string {
	switch {
	case facts.AppendOnly == "no" && facts.Snapshots == "none":
		return "persistence is off: a restart of Redis loses every execution; set appendonly yes"
	case facts.AppendOnly == "no" && facts.Snapshots != Unknown:
		return "there are snapshots only: a crash may lose minutes of what was answered 202; set appendonly yes"
	case facts.AppendOnly == "yes" && facts.AppendFsync == "no":
		return "appendfsync is no: a crash of the machine may lose what was answered 202 in the last half minute; " +
			"set appendfsync everysec or always"
	default:
		return ""
	}
}

func majorOf(version string) (int, bool) {
	text, _, _ := strings.Cut(version, ".")
	major, err := strconv.Atoi(text)
	return major, err == nil
}

// Strict turns warnings into an error that wraps ErrUnfit; nil without warnings.
func (f Facts) Strict() error {
	if len(f.Warnings) == 0 {
		return nil
	}
	return fmt.Errorf("%w (PAWL_STRICT is set): %s", ErrUnfit, strings.Join(f.Warnings, "; "))
}
