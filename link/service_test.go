package link_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// recorder keeps what was handed over.
type recorder struct {
	mu    sync.Mutex
	tasks []execution.Task
	err   error
	ctx   error
}

func (r *recorder) Enqueue(ctx context.Context, tasks ...execution.Task) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks = append(r.tasks, tasks...)
	r.ctx = ctx.Err()
	return r.err
}

func (r *recorder) take() []execution.Task {
	r.mu.Lock()
	defer r.mu.Unlock()
	tasks := r.tasks
	r.tasks = nil
	return tasks
}

func TestEveryWriteHandsItsTasksOver(t *testing.T) {
	t.Parallel()
	store, queue, ctx := memory(t), &recorder{}, t.Context()
	local := service(t, store, func(c *link.Config) { c.Enqueuer = queue }).As(execution.LocalAuthority())
	request := linktest.Request("hello")
	request.ConversationID, request.OnBusy = "talk", execution.BusyEnqueue
	first, err := local.Create(ctx, "key", request)
	require.NoError(t, err)
	tasks := queue.take()
	require.Len(t, tasks, 1)
	require.Equal(t, first.View.ID, tasks[0].Execution)
	require.Equal(t, "default-new", tasks[0].Queue)

	second, err := local.Create(ctx, "", request)
	require.NoError(t, err)
	require.Empty(t, queue.take(), "it waits for its turn")

	linktest.Claim(t, store, first.View.ID).Ask(linktest.Elicitation("question"))
	for range 2 { // a repeated answer hands the task over again: the first try may not have come so far
		_, err = local.SubmitInput(ctx, first.View.ID, linktest.Answer("op", "question", "yes"))
		require.NoError(t, err)
		tasks = queue.take()
		require.Len(t, tasks, 1)
		require.Equal(t, first.View.ID, tasks[0].Execution)
	}
	_, err = local.Pause(ctx, first.View.ID)
	require.NoError(t, err)
	require.Empty(t, queue.take(), "nothing is to be done")
	_, err = local.Resume(ctx, first.View.ID, execution.ResumeRequest{})
	require.NoError(t, err)
	tasks = queue.take()
	require.Len(t, tasks, 1)
	require.Equal(t, first.View.ID, tasks[0].Execution)

	_, err = local.Cancel(ctx, first.View.ID)
	require.NoError(t, err)
	tasks = queue.take()
	require.Len(t, tasks, 1)
	require.Equal(t, second.View.ID, tasks[0].Execution, "the conversation's next")
}

func TestCaseA1_ALostHandOverIsNoError(t *testing.T) {
	t.Parallel()
	store, queue := memory(t), &recorder{err: errors.New("redis is down")}
	local := service(t, store, func(c *link.Config) { c.Enqueuer = queue }).As(execution.LocalAuthority())
	created, err := local.Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	require.Equal(t, created.View.ID, queue.take()[0].Execution)
	require.Contains(t, store.Indexes()["handoff"], string(created.View.ID), "the due index wakes it")
}

// cutAfterReserve ends the caller's context right after the write.
type cutAfterReserve struct {
	journal.Store
	cancel context.CancelFunc
}

func (j cutAfterReserve) Reserve(ctx context.Context, n journal.NewExecution) (journal.Reservation, error) {
	defer j.cancel()
	return j.Store.Reserve(ctx, n)
}

func TestTheHandOverOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	queue := &recorder{}
	local := service(t, memory(t), func(c *link.Config) {
		c.Enqueuer, c.Journal = queue, cutAfterReserve{c.Journal.(journal.Store), cancel}
	}).As(execution.LocalAuthority())
	_, err := local.Create(ctx, "", linktest.Request("hello"))
	require.NoError(t, err)
	require.NoError(t, queue.ctx)
	require.Len(t, queue.take(), 1)
}

func TestABoundOnOpenExecutionsRefusesNewOnesAndAnswersReplays(t *testing.T) {
	t.Parallel()
	store := memory(t)
	local := service(t, store, func(c *link.Config) { c.MaxOpen = 1; c.RetryAfter = 7 * time.Second }).
		As(execution.LocalAuthority())
	first, err := local.Create(t.Context(), "key", linktest.Request("hello"))
	require.NoError(t, err)
	before := store.Dump()
	_, err = local.Create(t.Context(), "another", linktest.Request("hello"))
	var api *execution.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, execution.Overloaded, api.Code)
	require.Equal(t, 7*time.Second, api.RetryAfter)
	require.ErrorIs(t, err, execution.ErrOverloaded)
	again, err := local.Create(t.Context(), "key", linktest.Request("hello"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.View.ID, again.View.ID)
	_, err = local.Create(t.Context(), "key", linktest.Request("other"))
	require.ErrorIs(t, err, execution.ErrOverloaded)
	require.Equal(t, before, store.Dump())
	_, err = local.Cancel(t.Context(), first.View.ID)
	require.NoError(t, err)
	_, err = local.Create(t.Context(), "another", linktest.Request("hello"))
	require.NoError(t, err)
}

func TestAReplayIsAnsweredWhenItsAgentIsGone(t *testing.T) {
	t.Parallel()
	store := memory(t)
	first, err := service(t, store).As(execution.LocalAuthority()).Create(t.Context(), "key", linktest.Request("hello"))
	require.NoError(t, err)
	empty, err := agent.NewCatalog()
	require.NoError(t, err)
	later := service(t, store, func(c *link.Config) { c.Catalog = empty }).As(execution.LocalAuthority())
	again, err := later.Create(t.Context(), "key", linktest.Request("hello"))
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, first.View.ID, again.View.ID)
	_, err = later.Create(t.Context(), "another", linktest.Request("hello"))
	require.ErrorIs(t, err, execution.ErrUnknownAgent)
}

// failing answers every call with an error.
type failing struct {
	journal.Store
	err error
}

func (f failing) Reserve(context.Context, journal.NewExecution) (journal.Reservation, error) {
	return journal.Reservation{}, f.err
}

func (f failing) Get(context.Context, execution.ID) (journal.Execution, error) {
	return journal.Execution{}, f.err
}

func TestErrorsOfTheJournalHaveOneMeaningEach(t *testing.T) {
	t.Parallel()
	secret := "dial tcp 10.0.0.7:6379"
	cases := []struct {
		err  error
		code execution.ErrorCode
	}{
		{journal.ErrKeyReused, execution.IdempotencyKeyReused},
		{journal.ErrConversationBusy, execution.ConversationBusy},
		{journal.ErrState, execution.Conflict},
		{journal.ErrConflict, execution.Conflict},
		{journal.ErrInteractionClosed, execution.InteractionClosed},
		{journal.ErrLimit, execution.Overloaded},
		{journal.ErrOverloaded, execution.Overloaded},
		{journal.ErrUnavailable, execution.Unavailable},
		{context.DeadlineExceeded, execution.Unavailable},
		{journal.ErrNotFound, execution.NotFound},
		{errors.New("surprise"), execution.Internal},
	}
	for _, c := range cases {
		local := service(t, memory(t), func(cfg *link.Config) {
			cfg.Journal = failing{cfg.Journal.(journal.Store), errors.Join(c.err, errors.New(secret))}
		}).As(execution.LocalAuthority())
		_, err := local.Create(t.Context(), "", linktest.Request("hello"))
		var api *execution.APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, c.code, api.Code)
		require.ErrorIs(t, err, c.err, "the cause is kept")
		require.NotContains(t, err.Error(), secret, "and not told")
	}
}

func TestACallerThatLeftGetsItsOwnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := service(t, memory(t)).As(execution.LocalAuthority()).Execution(ctx, execution.NewID(1))
	require.ErrorIs(t, err, context.Canceled)
	var api *execution.APIError
	require.False(t, errors.As(err, &api))
}

func TestNobodyWithoutARoleGetsIn(t *testing.T) {
	t.Parallel()
	s := service(t, memory(t))
	created, err := s.As(execution.LocalAuthority()).Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	nobody := s.As(execution.Authority{Caller: execution.LocalCaller()})
	_, err = nobody.Create(t.Context(), "", linktest.Request("hello"))
	require.ErrorIs(t, err, execution.ErrForbidden)
	_, err = nobody.Execution(t.Context(), created.View.ID)
	require.ErrorIs(t, err, execution.ErrForbidden)
	_, err = nobody.Cancel(t.Context(), created.View.ID)
	require.ErrorIs(t, err, execution.ErrForbidden)
}

func TestAPausedQuestionAsksToResumeFirst(t *testing.T) {
	t.Parallel()
	store := memory(t)
	local := service(t, store).As(execution.LocalAuthority())
	created, err := local.Create(t.Context(), "", linktest.Request("hello"))
	require.NoError(t, err)
	linktest.Claim(t, store, created.View.ID).Ask(linktest.Elicitation("question"))
	_, err = store.Pause(t.Context(), created.View.ID)
	require.NoError(t, err)
	_, err = local.SubmitInput(t.Context(), created.View.ID, linktest.Answer("op", "question", "yes"))
	detail := linktest.Refused(t, err, execution.Conflict, "id")
	require.Contains(t, detail, "resume")
}

func TestConfigNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	valid := link.Config{
		Journal: memory(t), Catalog: linktest.Catalog(t), Enqueuer: nowhere{}, Opening: linktest.OpenWith,
		Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith,
	}
	cases := map[string]func(*link.Config){
		"Journal":        func(c *link.Config) { c.Journal = nil },
		"Catalog":        func(c *link.Config) { c.Catalog = nil },
		"Enqueuer":       func(c *link.Config) { c.Enqueuer = nil },
		"Opening":        func(c *link.Config) { c.Opening = nil },
		"Boundary":       func(c *link.Config) { c.Boundary = nil },
		"Call":           func(c *link.Config) { c.Call = nil },
		"Message":        func(c *link.Config) { c.Message = nil },
		"Forking":        func(c *link.Config) { c.Forking = nil },
		"MaxOpen":        func(c *link.Config) { c.MaxOpen = -1 },
		"RetryAfter":     func(c *link.Config) { c.RetryAfter = -1 },
		"Reread":         func(c *link.Config) { c.Reread = -1 },
		"EnqueueTimeout": func(c *link.Config) { c.EnqueueTimeout = -1 },
	}
	for field, change := range cases {
		cfg := valid
		change(&cfg)
		_, err := link.New(cfg)
		require.ErrorContains(t, err, field)
	}
	_, err := link.New(valid)
	require.NoError(t, err)
}
