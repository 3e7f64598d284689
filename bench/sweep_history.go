package bench

import (
	"context"
	"errors"
	"fmt"
)

const (
	historyNear  = 10 // messages
	historyTurns = 20 // turns that are looked at, from so many messages on
)

// historySweep is what the journal's calls of a step send and take at the beginning of a history and far into it, in the
// same executions.
func historySweep(ctx context.Context, env *Env) (Result, error) {
	far := env.cfg.History
	r := Result{Title: fmt.Sprintf("History: at message %d and at message %s", historyNear, thousands(int64(far)))}
	for pair := range env.cfg.Pairs {
		walked, err := env.walkHistories(ctx, far)
		if err != nil {
			return r, err
		}
		near, late := walked.between(historyNear, historyNear+2*historyTurns), walked.between(far, far+2*historyTurns)
		env.say("  %d/%d  a turn takes %.2f ms of the journal at first, %.2f ms later", pair+1, env.cfg.Pairs, near.millis, late.millis)
		addStretch(&r, fmt.Sprintf("at message %d", historyNear), near)
		addStretch(&r, "at message "+thousands(int64(far)), late)
		r.add("bytes written, of those at first", "×", ratio(late.bytes/late.steps, near.bytes/near.steps))
		r.add("time of claim and commit, of that at first", "×", ratio(late.millis/late.steps, near.millis/near.steps))
	}
	r.goal("bytes written, of those at first", atMost(1.02),
		fmt.Sprintf("bytes written by claim, receipt and commit at message %s, of those at message %d", thousands(int64(far)), historyNear))
	r.goal("time of claim and commit, of that at first", atMost(1.15),
		fmt.Sprintf("journal time of claim and commit at message %s, of that at message %d", thousands(int64(far)), historyNear))
	r.Notes = append(r.Notes, fmt.Sprintf("One execution at a time, %d of them for each sample; %d turns from there on. Bytes are "+
		"those of the arguments of claim, receipt and commit; reads are those of the history beside a claim.",
		env.historyRuns(), historyTurns))
	return r, nil
}

func addStretch(r *Result, name string, s stretch) {
	r.add(name+": bytes written per step", "B", ratio(s.bytes, s.steps))
	r.add(name+": claim and commit, per step", "ms", ratio(s.millis, s.steps))
	r.add(name+": reads per step", "", ratio(s.reads, s.steps))
}

// historyRuns is how many executions give one sample.
func (e *Env) historyRuns() int { return max(1, min(3, int(e.cfg.Duration.Seconds()))) }

// walkHistories runs executions to beyond far messages, one after the other.
func (e *Env) walkHistories(ctx context.Context, far int) (walked *path, err error) {
	if err := e.main.empty(ctx); err != nil {
		return nil, err
	}
	spec := e.spec(pawl, e.main)
	spec.Chains, spec.Detailed, spec.Path = 0, true, true
	spec.Turns = far/2 + historyTurns + 1
	l, err := startPawl(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	for range e.historyRuns() {
		l.path.begin()
		id, err := l.submit(ctx, toolAgent)
		if err != nil {
			return nil, err
		}
		if err := l.awaitEnd(ctx, id); err != nil {
			return nil, err
		}
	}
	return l.path, nil
}
