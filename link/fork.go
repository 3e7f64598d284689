package link

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// fork is a fork that was checked, with the names that follow from it.
type fork struct {
	key          string
	caller       execution.CallerScope
	from         execution.Origin
	request      execution.ForkRequest
	fingerprint  string
	id           execution.ID
	conversation execution.ConversationID
}

// Fork implements RuntimeLink.
func (l *session) Fork(
	ctx context.Context, id execution.ID, key string, request execution.ForkRequest,
) (execution.Created, error) {
	asked, err := newFork(l.authority.Caller, id, key, request)
	if err != nil {
		return execution.Created{}, err
	}
	source, err := l.see(ctx, "fork", id)
	if refused := l.maySubmit(); refused != nil {
		return execution.Created{}, cmp.Or(err, refused)
	}
	unseen := errors.Is(err, execution.ErrNotFound)
	var created execution.Created
	if err == nil {
		created, err = l.service.fork(ctx, &source, asked)
	}
	// A replay is answered whatever has become of what was forked.
	if errors.Is(err, execution.ErrNotFound) || errors.Is(err, execution.ErrInvalid) || errors.Is(err, execution.ErrOverloaded) {
		if row, found := l.service.forked(ctx, asked); found {
			return execution.Created{View: row.View(), Replayed: true}, nil
		}
	}
	if unseen {
		return execution.Created{}, cmp.Or(l.service.forkGone(ctx, asked), err)
	}
	return created, err
}

// newFork checks what depends on no execution. A fork is in the partition of what it comes from.
func newFork(caller execution.CallerScope, from execution.ID, key string, request execution.ForkRequest) (fork, error) {
	if _, err := execution.ParseID(string(from)); err != nil {
		return fork{}, invalid("id", "not an execution id").Because(err)
	}
	if err := validateKey(key); err != nil {
		return fork{}, err
	}
	if request.Input != nil {
		if err := validateMessage(execution.CreateRequest{Input: *request.Input}); err != nil {
			return fork{}, err
		}
	}
	if err := validateModelName(request.Model); err != nil {
		return fork{}, err
	}
	if err := validateLongText("instructions", request.Instructions, maxInstructions); err != nil {
		return fork{}, err
	}
	p := from.Partition()
	asked := fork{
		key: key, caller: caller, request: request, from: execution.Origin{ExecutionID: from, Step: request.Step},
		id: execution.NewID(p), conversation: execution.NewConversationID(p),
	}
	if key != "" {
		asked.id, asked.conversation = execution.DerivedID(p, caller, key), execution.DerivedConversationID(p, caller, key)
	}
	var err error
	asked.fingerprint, err = asked.print()
	return asked, err
}

// print is the hash of what is asked for. No request of Create has the same.
func (f fork) print() (string, error) {
	if f.request.Input != nil {
		input := withoutImages(execution.CreateRequest{Input: *f.request.Input}).Input
		f.request.Input = &input
	}
	data, err := json.Marshal(struct {
		From    execution.ID          `json:"from"`
		Request execution.ForkRequest `json:"request"`
	}{f.from.ExecutionID, f.request})
	if err != nil {
		return "", execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("fingerprint: %w", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// submission is what the fork's row says was asked for: what the other one's does, but for what the fork changes.
func (f fork) submission(source *journal.Execution) execution.CreateRequest {
	request := source.Request
	request.OnBusy, request.ConversationID, request.StartAtMs = execution.BusyReject, "", 0
	request.Delegation = nil // it was the other one's
	if f.request.Input != nil {
		request.Input = *f.request.Input
	}
	if f.request.Model != "" {
		request.Model = f.request.Model
	}
	if f.request.Instructions != "" {
		request.Instructions = f.request.Instructions
	}
	return request
}

func (s *Service) fork(ctx context.Context, source *journal.Execution, asked fork) (execution.Created, error) {
	if asked.from.Step > source.Step {
		return execution.Created{}, invalid("step", "the execution stands at step %d", source.Step)
	}
	if err := s.admit(ctx); err != nil {
		return execution.Created{}, err
	}
	row, err := s.prepareFork(ctx, source, asked)
	if err == nil {
		row.Checkpoint, err = s.cfg.Trace(ctx, row.Checkpoint)
	}
	if err != nil {
		return execution.Created{}, s.problem(ctx, "fork "+string(source.ID), err)
	}
	reservation, err := s.cfg.Journal.Reserve(ctx, row)
	switch {
	case errors.Is(err, journal.ErrKeyReused), errors.Is(err, journal.ErrGone):
	case errors.Is(err, journal.ErrConflict):
		err = execution.NewAPIError(execution.Conflict,
			"the execution has no history yet: it waits for its turn in its conversation").In("id").Because(err)
	case errors.Is(err, journal.ErrLimit):
		err = execution.NewAPIError(execution.Conflict,
			"the history is put together of %d forks and rollbacks, and there may be no more", journal.MaxParts).In("id").Because(err)
	}
	if err != nil {
		return execution.Created{}, s.problem(ctx, "fork "+string(source.ID), err)
	}
	s.enqueue(ctx, reservation.Tasks)
	return execution.Created{View: reservation.Execution.View(), Replayed: !reservation.Created}, nil
}

// prepareFork builds the row. The fork runs the definition that the other one runs, and not what has become of its agent.
func (s *Service) prepareFork(ctx context.Context, source *journal.Execution, asked fork) (row journal.NewExecution, err error) {
	request := asked.submission(source)
	stored, err := s.storedDefinition(ctx, source)
	if err != nil {
		return row, err
	}
	if err := s.supports(stored, request.Overrides); err != nil {
		return row, err
	}
	definition, overrides, err := effective(stored, request)
	if err == nil && asked.request.Input != nil {
		err = takesImages(definition, request.Input)
	}
	if err != nil {
		return row, err
	}
	first, err := s.checkpoint(ctx, source.ID, 0)
	if err != nil {
		return row, err
	}
	at, err := s.checkpoint(ctx, source.ID, asked.from.Step)
	if err != nil {
		return row, err
	}
	if row, err = s.cfg.Forking(definition, request, first, at, asked.request.Input != nil); err != nil {
		return row, err
	}
	row.ID, row.ConversationID, row.IdempotencyKey, row.Fingerprint = asked.id, asked.conversation, asked.key, asked.fingerprint
	row.Caller, row.Request, row.Definition = asked.caller, withoutImages(request), source.Definition
	if row.Overrides, err = sameRoster(source.Overrides, overrides); err != nil {
		return row, err
	}
	row.Queue, row.Deadline, row.Retention = stored.Queue, limitsOf(definition, request).Deadline, retention(stored, request)
	row.Fork.From = asked.from
	return row, nil
}

func (s *Service) storedDefinition(ctx context.Context, source *journal.Execution) (*agent.Definition, error) {
	data, err := s.cfg.Journal.Definition(ctx, source.Definition)
	if errors.Is(err, journal.ErrNotFound) {
		err = execution.NewAPIError(execution.Internal, "").Because(err)
	}
	if err != nil {
		return nil, err
	}
	definition, err := agent.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("definition %s: %w", source.Definition, err)
	}
	return definition, nil
}

func (s *Service) checkpoint(ctx context.Context, id execution.ID, step execution.Step) ([]byte, error) {
	found, err := s.cfg.Journal.Checkpoints(ctx, id, step, 1)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: checkpoint %d of %s", journal.ErrNotFound, step, id)
	}
	return found[0].Data, nil
}

// forkGone is the answer to a fork whose source is not there, or another tenant's, when what its key named was deleted; nil
// when it was not. The journal looks at a key before it looks for the source, and without that it stores nothing.
func (s *Service) forkGone(ctx context.Context, asked fork) error {
	if asked.key == "" {
		return nil
	}
	_, err := s.cfg.Journal.Reserve(ctx, journal.NewExecution{
		ID: asked.id, ConversationID: asked.conversation, IdempotencyKey: asked.key, Fingerprint: asked.fingerprint,
		Caller: asked.caller, Fork: &journal.Fork{From: asked.from},
	})
	if errors.Is(err, journal.ErrGone) {
		return s.problem(ctx, "fork "+string(asked.from.ExecutionID), err)
	}
	return nil
}

// forked finds the execution that the same fork created before.
func (s *Service) forked(ctx context.Context, asked fork) (journal.Execution, bool) {
	if asked.key == "" {
		return journal.Execution{}, false
	}
	row, err := s.cfg.Journal.Get(ctx, asked.id)
	if err != nil || row.Caller != asked.caller || row.IdempotencyKey != asked.key || row.ForkedFrom == nil ||
		*row.ForkedFrom != asked.from {
		return journal.Execution{}, false
	}
	said := asked.request.Input == nil || asked.request.Input.Text == row.Request.Input.Text
	same := (asked.request.Model == "" || asked.request.Model == row.Request.Model) &&
		(asked.request.Instructions == "" || asked.request.Instructions == row.Request.Instructions)
	return row, said && same
}
