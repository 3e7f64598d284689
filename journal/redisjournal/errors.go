package redisjournal

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// refusals maps the named refusals of the scripts, "CODE" or "CODE detail", to the errors of the contract. It is the only
// place that knows both.
func refusals() map[string]error {
	return map[string]error{
		"NOTFOUND":                    journal.ErrNotFound,
		"NOTFOUND no_conversation":    journal.ErrNoConversation,
		"NEWER":                       execution.ErrNewer,
		"FENCED":                      journal.ErrFenced,
		"CONFLICT":                    journal.ErrConflict,
		"CONFLICT conversation_busy":  journal.ErrConversationBusy,
		"CONFLICT key_reused":         journal.ErrKeyReused,
		"CONFLICT gone":               journal.ErrGone,
		"CONFLICT cleanup_open":       journal.ErrCleanupOpen,
		"CONFLICT interaction_closed": journal.ErrInteractionClosed,
		"STATE":                       journal.ErrState,
		"LIMIT":                       journal.ErrLimit,
		"LIMIT overloaded":            journal.ErrOverloaded,
	}
}

// scriptError turns what Redis answered into an error of the contract. Whatever is not a named refusal means that the
// outcome is unknown.
func scriptError(err error) error {
	var answer redis.Error
	if errors.As(err, &answer) {
		code, rest, _ := strings.Cut(answer.Error(), " ")
		detail, _, _ := strings.Cut(rest, " ")
		table := refusals()
		if known := table[code+" "+detail]; known != nil {
			return known
		}
		if known := table[code]; known != nil {
			if rest == "" {
				return known
			}
			return fmt.Errorf("%w (%s)", known, rest)
		}
	}
	return err
}

// refusal wraps an error with its operation and id: a refusal of the contract as it is, anything else as ErrUnavailable
// with its cause, so that context errors stay recognizable.
func refusal(operation, id string, err error) error {
	err = scriptError(err)
	for _, known := range contractErrors() {
		if errors.Is(err, known) {
			return fmt.Errorf("journal: %s %s: %w", operation, id, err)
		}
	}
	return fmt.Errorf("journal: %s %s: %w: %w", operation, id, journal.ErrUnavailable, err)
}

// refused reports whether a script has answered with a refusal of the contract.
func refused(err error) bool {
	err = scriptError(err)
	return slices.ContainsFunc(contractErrors(), func(known error) bool { return errors.Is(err, known) })
}

func contractErrors() []error {
	return []error{
		journal.ErrNotFound, journal.ErrFenced, journal.ErrConflict, journal.ErrLimit, journal.ErrOverloaded, errEncoding,
		execution.ErrNewer,
	}
}

// errEncoding marks a caller's value that cannot be stored, or a stored one that cannot be read: repeating does not help.
var errEncoding = errors.New("value cannot be encoded or decoded")

// unreadable reports whether a record is there and cannot be read: it is of another type, or what it holds is not understood.
// Whoever reads many records goes on with the others.
func unreadable(err error) bool {
	return wrongType(err) || errors.Is(err, errEncoding)
}

// checkID answers for ids that name no partition: there is no such execution.
func checkID(id execution.ID) error {
	if _, err := execution.ParseID(string(id)); err != nil {
		return journal.ErrNotFound
	}
	return nil
}
