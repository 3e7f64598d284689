package link

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/faultpoint"
	"github.com/pawl-run/pawl/journal"
)

// submission is a request that was checked, with the names that follow from it.
type submission struct {
	key          string
	caller       execution.CallerScope
	request      execution.CreateRequest
	fingerprint  string
	id           execution.ID
	conversation execution.ConversationID
	credential   execution.Credential // what the caller showed; for its delegation
}

// Create implements RuntimeLink.
func (l *session) Create(ctx context.Context, key string, request execution.CreateRequest) (execution.Created, error) {
	if err := l.maySubmit(); err != nil {
		return execution.Created{}, err
	}
	sub, err := newSubmission(l.authority.Caller, key, request)
	if err != nil {
		return execution.Created{}, err
	}
	sub.credential = l.authority.Credential
	created, err := l.service.submit(ctx, sub)
	// A replay is answered even when the same request would be refused by now: its agent was taken away, or
	// changed, or the installation is full.
	if errors.Is(err, execution.ErrInvalid) || errors.Is(err, execution.ErrOverloaded) {
		if row, found := l.service.earlier(ctx, sub); found {
			return execution.Created{View: row.View(), Replayed: true}, nil
		}
	}
	return created, err
}

// newSubmission checks a request and names what it creates. With a key the names follow from caller and key, so that a
// repeat meets its first try whatever became of that.
func newSubmission(caller execution.CallerScope, key string, request execution.CreateRequest) (submission, error) {
	if err := validateKey(key); err != nil {
		return submission{}, err
	}
	request, err := normalize(request)
	if err != nil {
		return submission{}, err
	}
	sub := submission{key: key, caller: caller, request: request, conversation: request.ConversationID}
	if sub.fingerprint, err = fingerprint(request); err != nil {
		return submission{}, err
	}
	switch {
	case key == "" && sub.conversation == "":
		sub.conversation = execution.NewConversationID(execution.RandomPartition())
		sub.id = execution.NewID(sub.conversation.Partition(caller.Tenant))
	case key == "":
		sub.id = execution.NewID(sub.conversation.Partition(caller.Tenant))
	case sub.conversation == "":
		p := execution.HashPartition(caller.String() + "\x00" + key)
		sub.conversation = execution.DerivedConversationID(p, caller, key)
		sub.id = execution.DerivedID(p, caller, key)
	default:
		sub.id = execution.DerivedID(sub.conversation.Partition(caller.Tenant), caller, key)
	}
	return sub, nil
}

// fingerprint is the hash of a normalized request's canonical JSON: struct fields in order, map keys sorted, also those of
// schemas, because clients write the same schema in any order.
func fingerprint(request execution.CreateRequest) (string, error) {
	data, err := json.Marshal(withoutImages(request))
	if err == nil && (len(request.OutputSchema) > 0 || len(request.FrontendTools) > 0) {
		data, err = sorted(data)
	}
	if err != nil {
		return "", execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("fingerprint: %w", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// sorted is JSON with the keys of every object in order and numbers as they were written.
func sorted(data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("sort the keys: %w", err)
	}
	return json.Marshal(plain)
}

func (s *Service) submit(ctx context.Context, sub submission) (execution.Created, error) {
	declared, known := s.cfg.Catalog.Agent(sub.request.Agent)
	if !known {
		return execution.Created{}, execution.NewAPIError(execution.UnknownAgent,
			"there is no agent of that name; known are: %s", strings.Join(s.cfg.Catalog.Names(), ", ")).In("agent")
	}
	if err := s.supports(declared, sub.request.Overrides); err != nil {
		return execution.Created{}, err
	}
	definition, overrides, err := effective(declared, sub.request)
	if err != nil {
		return execution.Created{}, err
	}
	if err := takesImages(definition, sub.request.Input); err != nil {
		return execution.Created{}, err
	}
	if err := s.mayDelegate(sub, definition); err != nil {
		return execution.Created{}, err
	}
	if err := s.admit(ctx); err != nil {
		return execution.Created{}, err
	}
	row, err := s.prepare(ctx, sub, declared, definition)
	if err == nil {
		row.Overrides, err = s.rostered(ctx, declared, overrides)
	}
	if err != nil {
		return execution.Created{}, s.problem(ctx, "create", err)
	}
	faultpoint.Hit("before_commit:run_start")
	if row.Checkpoint, err = s.cfg.Trace(ctx, row.Checkpoint); err != nil {
		return execution.Created{}, s.problem(ctx, "create", err)
	}
	reservation, err := s.cfg.Journal.Reserve(ctx, row)
	if err != nil {
		return execution.Created{}, s.problem(ctx, "create", s.refused(sub, err))
	}
	faultpoint.Hit("after_commit:run_start")
	s.enqueue(ctx, reservation.Tasks)
	if sub.request.Delegation != nil {
		if reservation.Execution, err = s.delegate(ctx, sub, reservation.Execution); err != nil {
			return execution.Created{}, s.problem(ctx, "create", err)
		}
	}
	return execution.Created{View: reservation.Execution.View(), Replayed: !reservation.Created}, nil
}

// refused names the conversation where that is why the journal takes no execution.
func (s *Service) refused(sub submission, err error) error {
	switch {
	case errors.Is(err, journal.ErrLimit):
		return s.lineFull(sub.request.OnBusy).In("conversationId").Because(err)
	case errors.Is(err, journal.ErrConversationBusy), errors.Is(err, journal.ErrKeyReused), errors.Is(err, journal.ErrGone),
		errors.Is(err, journal.ErrInteractionClosed):
		return err
	case errors.Is(err, journal.ErrConflict): // the key was placed for another request, whose execution is not there yet
		return execution.NewAPIError(execution.Conflict,
			"another submission with this idempotency key is under way").In(fieldKey).Because(err)
	case errors.Is(err, journal.ErrNoConversation): // nobody's, or another tenant's: the answer does not say
		return invalid("conversationId",
			"there is no such conversation; leave the field out to open one, or choose an id of your own").Because(err)
	default:
		return err
	}
}

// lineFull says why the conversation takes no more: everybody has to wait, or nothing will change.
func (s *Service) lineFull(onBusy execution.OnBusy) *execution.APIError {
	switch onBusy {
	case execution.BusyInterrupt:
		return s.overloaded("too many messages of those that were interrupted wait for the active execution's end")
	case execution.BusyRollback:
		return execution.NewAPIError(execution.Conflict,
			"the history is put together of %d forks and rollbacks, and there may be no more: interrupt instead", journal.MaxParts)
	default:
		return s.overloaded("too many executions wait for the conversation's turn")
	}
}

// admit refuses when too many executions are open. The bound is soft: submissions at the same moment may pass it.
func (s *Service) admit(ctx context.Context) error {
	if s.cfg.MaxOpen == 0 {
		return nil
	}
	open, err := s.cfg.Journal.OpenExecutions(ctx)
	if err != nil {
		return s.problem(ctx, "create", err)
	}
	if open >= s.cfg.MaxOpen {
		return s.overloaded("%d executions have not ended; the limit is %d", open, s.cfg.MaxOpen)
	}
	return nil
}

// prepare stores the agent's definition and builds the row. The execution runs the effective one.
func (s *Service) prepare(
	ctx context.Context, sub submission, definition, effective *agent.Definition,
) (journal.NewExecution, error) {
	stored := s.texts.of(definition)
	checkpoint, node, messages, err := s.cfg.Opening(effective, sub.request)
	if err != nil {
		return journal.NewExecution{}, fmt.Errorf("open agent %s: %w", definition.Name, err)
	}
	if err := s.cfg.Journal.PutDefinition(ctx, stored.hash, stored.canonical); err != nil {
		return journal.NewExecution{}, err
	}
	return journal.NewExecution{
		ID: sub.id, ConversationID: sub.conversation, IdempotencyKey: sub.key, Fingerprint: sub.fingerprint,
		Caller: sub.caller, Request: withoutImages(sub.request), Definition: stored.hash, Queue: definition.Queue,
		Deadline: limitsOf(effective, sub.request).Deadline, Retention: retention(definition, sub.request),
		Checkpoint: checkpoint, Node: node, Messages: messages, Delegated: sub.request.Delegation != nil,
	}, nil
}

// retention is how long the execution is kept after its end; 0: as long as the installation says.
func retention(definition *agent.Definition, request execution.CreateRequest) time.Duration {
	if request.RetentionMs > 0 {
		return time.Duration(request.RetentionMs) * time.Millisecond
	}
	return definition.Retention
}

// earlier finds the execution that the same submission created before.
func (s *Service) earlier(ctx context.Context, sub submission) (journal.Execution, bool) {
	if sub.key == "" {
		return journal.Execution{}, false
	}
	row, err := s.cfg.Journal.Get(ctx, sub.id)
	if err != nil || row.Caller != sub.caller || row.IdempotencyKey != sub.key {
		return journal.Execution{}, false
	}
	stored, err := fingerprint(row.Request)
	return row, err == nil && stored == sub.fingerprint
}
