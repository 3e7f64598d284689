package redisjournal

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Commit writes a step. See journal.Steps.
func (s *Store) Commit(ctx context.Context, commit journal.Commit) (journal.Committed, error) {
	answer, err := s.commit(ctx, commit)
	if err != nil {
		return journal.Committed{}, refusal("commit", string(commit.Execution), err)
	}
	return answer, nil
}

func (s *Store) commit(ctx context.Context, commit journal.Commit) (journal.Committed, error) {
	args, err := commitArguments(commit)
	if err != nil {
		return journal.Committed{}, err
	}
	return committed(newReply(s.run(ctx, s.scripts.commit, commit.Execution, args...)))
}

func commitArguments(commit journal.Commit) ([]any, error) {
	if err := journal.CheckCommit(commit); err != nil {
		return nil, err
	}
	var e encoder
	then := e.then(commit.Then)
	args := make([]any, 0, 17+2*len(commit.Plan)+len(commit.Messages)+len(commit.Events)+8*len(commit.Earlier))
	args = append(args,
		string(commit.Fence), strconv.FormatUint(uint64(commit.Step), 10), allowed(then.move), string(commit.Then.Kind),
		commit.Node, commit.Checkpoint, encodeUsage(commit.Usage), bit(commit.ReadsHistory), "", commit.Keep.Milliseconds(),
		commit.ClaimedAtMs)
	args = e.lists(args, &commit)
	if commit.Then.Kind != journal.ThenContinue {
		args = append(args, then.question.arguments()...)
		args = append(args,
			then.await, commit.Then.Wait.Milliseconds(), string(commit.Then.Suspension.Reason),
			commit.Then.Suspension.Detail, string(then.state), then.field, then.blob, then.event)
	}
	return args, e.err
}

// countsArgument is where the lengths of a commit's lists go.
const countsArgument = 8

// lists adds the arguments of a commit that are as many as there are, and their counts in front of them.
func (e *encoder) lists(args []any, commit *journal.Commit) []any {
	boundaries := append(commit.Earlier[:len(commit.Earlier):len(commit.Earlier)], journal.Boundary{
		Messages: commit.Messages, Plan: commit.Plan, Events: commit.Events, Consumed: commit.Consumed,
	})
	var messages, plans, events, consumed int
	for _, b := range boundaries {
		messages += len(b.Messages)
		for _, message := range b.Messages {
			args = append(args, message)
		}
	}
	for _, b := range boundaries {
		plans += len(b.Plan)
		for _, plan := range b.Plan {
			args = append(args, string(plan.CallID), plan.Intent)
		}
	}
	for _, call := range commit.Batch {
		args = append(args, string(call))
	}
	for _, b := range boundaries {
		events += len(b.Events)
		for _, payload := range b.Events {
			args = append(args, e.event(payload))
		}
	}
	for _, b := range boundaries {
		consumed += len(b.Consumed)
		for _, request := range b.Consumed {
			args = append(args, string(request))
		}
	}
	for _, b := range commit.Earlier {
		args = append(args, b.Checkpoint)
	}
	cleanups := 0
	if commit.Cleanup != nil {
		cleanups = 1
		args = append(args, *commit.Cleanup)
	}
	args[countsArgument] = fmt.Sprint(messages, plans, len(commit.Batch), events, consumed, len(commit.Earlier),
		events-len(commit.Events), cleanups)
	return args
}

// following is what follows a commit, as its script takes it.
type following struct {
	move     journal.Move
	question question
	await    string // what is waited for, a line each
	state    execution.State
	field    string // outcome or failure
	blob     string
	event    string // of the suspension, of the question or of the end
}

func (e *encoder) then(then journal.Then) following {
	f := following{move: journal.MoveCommitContinue, await: lines(then.Await)}
	switch then.Kind {
	case journal.ThenContinue:
	case journal.ThenPark:
		f.move = journal.MoveCommitPark
		f.question.kind = string(then.WaitKind)
		if then.Interaction != nil {
			f.move = journal.MoveCommitInteraction
			f.question = e.question(*then.Interaction)
			f.event = f.question.event
			if f.await == "" {
				f.await = string(then.Interaction.RequestID)
			}
		}
	case journal.ThenSuspend:
		f.move = journal.MoveCommitSuspend
		f.event = e.event(journal.SuspendedEvent(then.Suspension))
	case journal.ThenEnd:
		f.move = journal.MoveCommitComplete
		if then.Failure != nil {
			f.move = journal.MoveCommitFail
		}
		end := journal.EndingOf(then)
		f.state, f.event = end.State, e.event(journal.EndingPayload(end))
		f.field, f.blob = e.result(end)
	}
	return f
}

// result is the field of a row that holds an ending's outcome or failure, and its blob; both empty when there is none.
func (e *encoder) result(end journal.Ending) (field, blob string) {
	switch {
	case end.Outcome != nil:
		return "outcome", e.blob(end.Outcome)
	case end.Failure != nil:
		return "failure", e.blob(end.Failure)
	default:
		return "", ""
	}
}

// lines are requests as scripts take them.
func lines(requests []execution.RequestID) string {
	texts := make([]string, len(requests))
	for i, request := range requests {
		texts[i] = string(request)
	}
	return strings.Join(texts, "\n")
}

// question is an interaction as scripts take it.
type question struct {
	request, blob, expires, onExpiry, kind, expired, received string
	event                                                     string
}

func (e *encoder) question(interaction execution.Interaction) question {
	return question{
		request:  string(interaction.RequestID),
		blob:     e.blob(interaction),
		expires:  optional(interaction.ExpiresAtMs),
		onExpiry: string(interaction.OnExpiry),
		kind:     string(journal.InteractionWait(interaction).Kind),
		expired:  string(journal.ExpiredPayload(interaction.RequestID)),
		received: e.event(execution.InteractionReceived{RequestID: interaction.RequestID}),
		event:    e.event(journal.InteractionEvent(interaction)),
	}
}

// arguments are in the order of the scripts: request, interaction, expiry, on expiry, wait kind, entry and event of an
// expiry.
func (q question) arguments() []any {
	return []any{q.request, q.blob, q.expires, q.onExpiry, q.kind, q.expired, q.received}
}
