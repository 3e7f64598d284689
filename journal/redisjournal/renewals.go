package redisjournal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/journal"
)

var _ journal.Renewals = (*Store)(nil)

// RenewAll renews many claims in one pipeline. See journal.Renewals.
func (s *Store) RenewAll(ctx context.Context, holds []journal.Hold, ttl time.Duration) []journal.RenewAnswer {
	answers := make([]journal.RenewAnswer, len(holds))
	var calls []invocation
	var asked []int
	for i, hold := range holds {
		err := journal.CheckTTL(ttl)
		if err == nil {
			err = checkID(hold.Execution)
		}
		if err != nil {
			answers[i].Err = refusal("renew", string(hold.Execution), err)
			continue
		}
		asked = append(asked, i)
		calls = append(calls, invocation{s.keys.execution(hold.Execution), append(s.renewArguments(hold, ttl), s.now())})
	}
	if len(calls) == 0 {
		return answers
	}
	commands, err := s.pipeline(ctx, s.scripts.renew, calls)
	for n, i := range asked {
		answers[i] = renewAnswer(holds[i], commands[n], err)
	}
	return answers
}

// renewAnswer is what became of one renewal: its own error first, for that of the pipeline is the one of another.
func renewAnswer(hold journal.Hold, command *redis.Cmd, err error) (answer journal.RenewAnswer) {
	if own := command.Err(); own != nil {
		err = own
	}
	if err == nil {
		answer.Renewed, err = decodeRenewed(command.Val())
	}
	if err != nil {
		answer.Err = refusal("renew", string(hold.Execution), err)
	}
	return answer
}

func (s *Store) renewArguments(hold journal.Hold, ttl time.Duration) []any {
	return append(heldBy(hold), ttl.Milliseconds(), allowed(journal.MoveRenew))
}

func decodeRenewed(answer any) (journal.Renewed, error) {
	words, _ := answer.(string)
	canceled, words, _ := strings.Cut(words, " ")
	paused, last, _ := strings.Cut(words, " ")
	left, err := strconv.ParseInt(last, 10, 64)
	if err != nil {
		return journal.Renewed{}, fmt.Errorf("%w: answer %q: %w", errEncoding, answer, err)
	}
	return journal.Renewed{
		CancelRequested: canceled == "1", PauseRequested: paused == "1", TTL: time.Duration(left) * time.Millisecond,
	}, nil
}
