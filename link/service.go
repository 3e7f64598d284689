package link

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Journal is what the service needs of the store.
type Journal interface {
	Reserve(ctx context.Context, execution journal.NewExecution) (journal.Reservation, error)
	CommitInteractionInput(ctx context.Context, id execution.ID, input journal.InteractionInput) (journal.Mutation, error)
	Cancel(ctx context.Context, id execution.ID) (journal.Change, error)
	Pause(ctx context.Context, id execution.ID) (journal.Change, error)
	Resume(ctx context.Context, id execution.ID, resumption journal.Resumption) (journal.Change, error)
	TakeBack(ctx context.Context, id execution.ID) (journal.Change, error)
	Delete(ctx context.Context, id execution.ID) error
	Delegate(ctx context.Context, id execution.ID, delegation journal.Delegation) (journal.Change, error)
	RefuseDelegation(ctx context.Context, id execution.ID, failure execution.Failure) (journal.Change, error)
	OpenExecutions(ctx context.Context) (int64, error)
	Get(ctx context.Context, id execution.ID) (journal.Execution, error)
	Children(ctx context.Context, id execution.ID) ([]journal.Child, error)
	List(ctx context.Context, listing journal.Listing) (journal.ListPage, error)
	EventPage(ctx context.Context, id execution.ID, after execution.Sequence, limit int) (journal.EventPage, error)
	Messages(ctx context.Context, id execution.ID, from, limit int) ([][]byte, error)
	Checkpoints(ctx context.Context, id execution.ID, from execution.Step, limit int) ([]journal.StoredCheckpoint, error)
	Ledger(ctx context.Context, id execution.ID, calls []execution.CallID) ([]journal.LedgerEntry, error)
	Inspect(ctx context.Context, id execution.ID) (journal.Inspection, error)
	Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error)
	PutDefinition(ctx context.Context, hash string, definition []byte) error
	Definition(ctx context.Context, hash string) ([]byte, error)
	Follow(ctx context.Context, id execution.ID) (journal.Subscription, error)
	FollowAll(ctx context.Context) (journal.WideSubscription, error)
	LastSequences(ctx context.Context, ids []execution.ID) ([]execution.Sequence, error)
}

// Catalog knows the agents.
type Catalog interface {
	Agent(name string) (*agent.Definition, bool)
	Names() []string
}

// Enqueuer hands tasks to the queue. A task that stands already is no error.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks ...execution.Task) error
}

// Config is what a Service is made of.
type Config struct {
	Journal  Journal  // required
	Catalog  Catalog  // required
	Enqueuer Enqueuer // required
	// Opening gives checkpoint 0 of an execution, the name of its boundary and the messages it adds to its
	// conversation. Required; the step machine knows how.
	Opening func(*agent.Definition, execution.CreateRequest) (checkpoint []byte, node string, messages [][]byte, err error)
	// Boundary gives what a client sees of a stored checkpoint. Required; the step machine knows how.
	Boundary func([]byte) (execution.Checkpoint, error)
	// Message decodes a stored message. Required; the step machine knows how.
	Message func([]byte) (execution.Message, error)
	// Call gives what a client sees of a ledger entry: the call as it is planned now, and its result once it has a receipt.
	// With an error about one of them it gives the other. Required; the step machine knows how.
	Call func(journal.LedgerEntry) (execution.ToolCall, *execution.ToolResult, error)
	// Forking gives what a fork is stored with but for its names: checkpoint 0, the name of its boundary, the messages that
	// it adds, and how much it takes of the other one's history, whose checkpoints 0 and at the fork it gets. says: the
	// request's input is the fork's own. Required; the step machine knows how.
	Forking func(definition *agent.Definition, request execution.CreateRequest, first, at []byte, says bool) (journal.NewExecution, error)
	// Validate says why the backend of an agent does not take the overrides of a submission. nil: nobody says more than which
	// field it does not take.
	Validate func(*agent.Definition, execution.Overrides) error
	// RemoteTask reads what a row keeps for whoever undoes its remote run: the id of the remote's task, and since when the
	// remote has it, in milliseconds since 1970. nil: nothing is known of that.
	RemoteTask func(cleanup []byte) (task string, sinceMs int64)
	// Broker establishes delegations. nil: submissions may ask for none.
	Broker Broker
	// Trace puts the trace of ctx into checkpoint 0. nil: executions belong to no trace.
	Trace func(ctx context.Context, checkpoint []byte) ([]byte, error)
	// Queues looks at where tasks stand. nil: nothing is known of that.
	Queues Queues
	// MaxOpen bounds the executions that have not ended; above it Create is ErrOverloaded. 0: no bound.
	MaxOpen int64
	// RetryAfter is what an overloaded caller is told to wait. Default 5s.
	RetryAfter time.Duration
	// Reread is how often the logs that are followed are looked at without a hint. Default 5s.
	Reread time.Duration
	// EarlyResult is how long a tool's result that comes before the execution waits for it is held. Default 5s.
	EarlyResult time.Duration
	// EnqueueTimeout bounds the hand-over of tasks. Default 5s.
	EnqueueTimeout time.Duration
	Logger         *slog.Logger // nil: slog.Default()
}

func (c Config) withDefaults() (Config, error) {
	required := []struct {
		name    string
		missing bool
	}{
		{"Journal", c.Journal == nil},
		{"Catalog", c.Catalog == nil},
		{"Enqueuer", c.Enqueuer == nil},
		{"Opening", c.Opening == nil},
		{"Boundary", c.Boundary == nil},
		{"Message", c.Message == nil},
		{"Call", c.Call == nil},
		{"Forking", c.Forking == nil},
	}
	for _, r := range required {
		if r.missing {
			return c, fmt.Errorf("link: %s is required", r.name)
		}
	}
	if c.Trace == nil {
		c.Trace = func(_ context.Context, checkpoint []byte) ([]byte, error) { return checkpoint, nil }
	}
	if c.MaxOpen < 0 {
		return c, fmt.Errorf("link: MaxOpen must not be negative, is %d", c.MaxOpen)
	}
	durations := []struct {
		name  string
		value *time.Duration
	}{{"RetryAfter", &c.RetryAfter}, {"Reread", &c.Reread}, {"EarlyResult", &c.EarlyResult}, {"EnqueueTimeout", &c.EnqueueTimeout}}
	for _, d := range durations {
		if *d.value == 0 {
			*d.value = 5 * time.Second
		}
		if *d.value < 0 {
			return c, fmt.Errorf("link: %s must be positive, is %v", d.name, *d.value)
		}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c, nil
}

// Service keeps RuntimeLink over a journal. It is safe for concurrent use. All it holds is what open streams share.
type Service struct {
	cfg   Config
	hubs  *hubs
	wide  *wide
	texts texts
}

// New makes a Service. The error names the field that is wrong.
func New(cfg Config) (*Service, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Service{cfg: cfg}
	s.hubs, s.wide = newHubs(s), &wide{service: s, followers: make(map[*wideFollower]struct{})}
	return s, nil
}

// As is the link as one caller sees it. A call without an authority cannot be written.
func (s *Service) As(authority execution.Authority) RuntimeLink {
	return &session{service: s, authority: authority}
}

// session is the service as one caller sees it.
type session struct {
	service   *Service
	authority execution.Authority
}

// enqueue hands tasks over. A failure is logged and no error: what they wake is written and has its due entry.
func (s *Service) enqueue(ctx context.Context, tasks []execution.Task) {
	if len(tasks) == 0 {
		return
	}
	// The caller may hang up as soon as it likes: the write is done, and so should be the hand-over.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.cfg.EnqueueTimeout)
	defer cancel()
	if err := s.cfg.Enqueuer.Enqueue(ctx, tasks...); err != nil {
		s.cfg.Logger.WarnContext(ctx, "tasks were not handed over; the due index will wake them",
			"execution", tasks[0].Execution, "tasks", len(tasks), "error", err)
	}
}

// problem turns an error of the journal into the caller's.
//
// An error of a caller that has gone stays the context's. What any other context ended inside is the store's silence.
func (s *Service) problem(ctx context.Context, operation string, err error) error {
	if api := new(execution.APIError); errors.As(err, &api) {
		return err
	}
	cause := fmt.Errorf("%s: %w", operation, err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: %w", operation, ctx.Err())
	case errors.Is(err, journal.ErrNotFound):
		return notFound().Because(cause)
	case errors.Is(err, journal.ErrKeyReused):
		return execution.NewAPIError(execution.IdempotencyKeyReused,
			"the idempotency key was used for another request").In(fieldKey).Because(cause)
	case errors.Is(err, journal.ErrConversationBusy):
		return execution.NewAPIError(execution.ConversationBusy,
			"the conversation has an active execution").In("conversationId").Because(cause)
	case errors.Is(err, journal.ErrGone):
		return execution.NewAPIError(execution.Gone,
			"the execution that was submitted with the idempotency key was deleted").In(fieldKey).Because(cause)
	case errors.Is(err, journal.ErrInteractionClosed):
		return execution.NewAPIError(execution.InteractionClosed, "the interaction is not open").Because(cause)
	case errors.Is(err, journal.ErrConflict):
		return execution.NewAPIError(execution.Conflict, "the execution's state does not allow it").Because(cause)
	case errors.Is(err, journal.ErrOverloaded):
		return s.overloaded("the store takes no more work now").Because(cause)
	case errors.Is(err, journal.ErrLimit):
		return execution.NewAPIError(execution.Conflict, "the execution's log is full").Because(cause)
	case errors.Is(err, execution.ErrNewer):
		return execution.NewAPIError(execution.Unavailable, "it was written by a later release: ask a server of that release").
			After(time.Second).Because(cause)
	case errors.Is(err, journal.ErrUnavailable), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return execution.NewAPIError(execution.Unavailable, "the store did not answer").After(time.Second).Because(cause)
	default:
		return execution.NewAPIError(execution.Internal, "").Because(cause)
	}
}

func (s *Service) overloaded(format string, args ...any) *execution.APIError {
	return execution.NewAPIError(execution.Overloaded, format, args...).After(s.cfg.RetryAfter)
}

func notFound() *execution.APIError {
	return execution.NewAPIError(execution.NotFound, "there is no such execution").In("id")
}

func invalid(field, format string, args ...any) *execution.APIError {
	return execution.NewAPIError(execution.InvalidRequest, format, args...).In(field)
}
