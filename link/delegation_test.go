package link_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
)

// brokers is a broker that answers as the test says.
type brokers struct {
	check, establish error
	grants           []delegation.Grant
	meanwhile        func(execution.ID)
}

func (b *brokers) Check(delegation.Grant) error { return b.check }

func (b *brokers) Establish(_ context.Context, grant delegation.Grant) (delegation.Lease, error) {
	b.grants = append(b.grants, grant)
	if b.meanwhile != nil {
		b.meanwhile(grant.Execution)
	}
	if b.establish != nil {
		return delegation.Lease{}, b.establish
	}
	return delegation.Lease{Ref: delegation.Ref("lease of " + grant.Execution), ExpiresAt: time.Unix(1<<33, 0), Revision: 1}, nil
}

// desk is a catalog whose agent demo has a tool that acts for its caller, and agent other none.
func desk(t *testing.T) *agent.Catalog {
	t.Helper()
	model := agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{Text: "Done."}}}
	catalog, err := agent.NewCatalog(
		&agent.Definition{Name: "demo", Backend: "local", Model: model, Tools: []agent.Tool{{
			Name: "files", Type: agent.ToolHTTP, URL: "http://files", Auth: agent.AuthDelegation,
		}}},
		&agent.Definition{Name: "other", Backend: "local", Model: model},
	)
	require.NoError(t, err)
	return catalog
}

// delegating is a link with a broker, and a submission that asks for a delegation.
func delegating(t *testing.T, broker link.Broker) (linked link.RuntimeLink, store journal.Store, queue *recorder, request execution.CreateRequest) {
	t.Helper()
	memory := memory(t)
	queue = &recorder{}
	authority := execution.LocalAuthority()
	authority.Credential = execution.NewCredential("the caller's token")
	linked = service(t, memory, func(c *link.Config) { c.Enqueuer, c.Broker, c.Catalog = queue, broker, desk(t) }).As(authority)
	request = linktest.Request("hello")
	request.Delegation = &execution.DelegationRequest{Scopes: []string{"read"}}
	return linked, memory, queue, request
}

func TestASubmissionWithADelegationRunsWhenItsLeaseIsThere(t *testing.T) {
	t.Parallel()
	broker := &brokers{}
	linked, store, queue, request := delegating(t, broker)
	created, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.Equal(t, &execution.DelegationView{ExpiresAtMs: 1000 << 33}, created.View.Delegation)
	require.Len(t, queue.take(), 1)
	require.Len(t, broker.grants, 1)
	require.Equal(t, created.View.ID, broker.grants[0].Execution)
	require.Equal(t, "the caller's token", broker.grants[0].Caller.Reveal())
	require.Equal(t, request.Delegation.Scopes, broker.grants[0].Request.Scopes)
	row, err := store.Get(t.Context(), created.View.ID)
	require.NoError(t, err)
	require.EqualValues(t, "lease of "+created.View.ID, row.Delegation.LeaseRef)

	again, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.True(t, again.Replayed)
	require.Equal(t, created.View, again.View)
	require.Len(t, broker.grants, 1, "nothing is established twice")
	require.NotContains(t, fmt.Sprintf("%+v", created.View), "lease")

	fork, err := linked.Fork(t.Context(), created.View.ID, "", execution.ForkRequest{})
	require.NoError(t, err)
	require.Nil(t, fork.View.Delegation, "a fork acts for nobody")
}

func TestADelegationThatIsRefusedAtOnceLeavesNothing(t *testing.T) {
	t.Parallel()
	refusal := &delegation.Refusal{Field: "delegation.scopes", Reason: "too much"}
	for name, c := range map[string]struct {
		broker link.Broker
		field  string
	}{
		"no broker":        {nil, "delegation"},
		"what is no scope": {&brokers{check: refusal}, "delegation.scopes"},
	} {
		linked, store, _, request := delegating(t, c.broker)
		_, err := linked.Create(t.Context(), "key", request)
		require.ErrorIs(t, err, execution.ErrInvalid, name)
		var problem *execution.APIError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, c.field, problem.Field, name)
		open, err := store.OpenExecutions(t.Context())
		require.NoError(t, err)
		require.Zero(t, open, name)
	}
	linked, _, _, request := delegating(t, &brokers{})
	unused := request
	unused.Agent = "other"
	_, err := linked.Create(t.Context(), "", unused)
	var useless *execution.APIError
	require.ErrorAs(t, err, &useless)
	require.Equal(t, "delegation", useless.Field)
	require.Contains(t, useless.Detail, "nothing would use it")
	for field, change := range map[string]func(*execution.DelegationRequest){
		"delegation.audience": func(d *execution.DelegationRequest) { d.Audience = string(make([]byte, 2049)) },
		"delegation.scopes":   func(d *execution.DelegationRequest) { d.Scopes = []string{""} },
	} {
		asked := *request.Delegation
		change(&asked)
		changed := request
		changed.Delegation = &asked
		_, err := linked.Create(t.Context(), "", changed)
		var problem *execution.APIError
		require.ErrorAs(t, err, &problem)
		require.Equal(t, field, problem.Field)
	}
}

func TestADelegationThatTheServerRefusesEndsTheExecution(t *testing.T) {
	t.Parallel()
	broker := &brokers{establish: &delegation.Refusal{Reason: "not you"}}
	linked, store, queue, request := delegating(t, broker)
	_, err := linked.Create(t.Context(), "key", request)
	require.ErrorIs(t, err, execution.ErrForbidden)
	require.Empty(t, queue.take())
	row, err := store.Get(t.Context(), broker.grants[0].Execution)
	require.NoError(t, err)
	require.Equal(t, execution.Failed, row.State)
	require.Equal(t, execution.CodeDelegationRefused, row.Failure.Code)
	again, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err, "a replay shows what has become of it")
	require.Equal(t, execution.Failed, again.View.State)
}

func TestAServerThatDoesNotAnswerIsAskedAgainByARepeatedSubmission(t *testing.T) {
	t.Parallel()
	broker := &brokers{establish: fmt.Errorf("dial: %w", delegation.ErrUnavailable)}
	linked, store, queue, request := delegating(t, broker)
	_, err := linked.Create(t.Context(), "key", request)
	require.ErrorIs(t, err, execution.ErrUnavailable)
	row, err := store.Get(t.Context(), broker.grants[0].Execution)
	require.NoError(t, err)
	require.Equal(t, execution.Queued, row.State, "somebody may come back for it")
	why, err := linked.Why(t.Context(), row.ID)
	require.NoError(t, err)
	require.Equal(t, execution.WaitsForAuth, why.WaitingFor)
	require.Contains(t, why.Detail, "Idempotency-Key")
	require.Equal(t, row.Wait.UntilMs, why.Next.AtMs)
	broker.establish = nil
	created, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.True(t, created.Replayed)
	require.NotZero(t, created.View.Delegation.ExpiresAtMs)
	require.Len(t, queue.take(), 1)

	broker.establish = delegation.ErrUnavailable
	_, err = linked.Create(t.Context(), "", request)
	require.ErrorIs(t, err, execution.ErrUnavailable)
	row, err = store.Get(t.Context(), broker.grants[len(broker.grants)-1].Execution)
	require.NoError(t, err)
	require.Equal(t, execution.CodeDelegationLost, row.Failure.Code, "nobody can come back for one without a key")
}

func TestAnExecutionThatIsCanceledWhileItsLeaseIsMadeStaysCanceled(t *testing.T) {
	t.Parallel()
	broker := &brokers{}
	linked, store, queue, request := delegating(t, broker)
	broker.meanwhile = func(id execution.ID) {
		_, err := linked.Cancel(t.Context(), id)
		require.NoError(t, err)
	}
	created, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.Equal(t, execution.Canceled, created.View.State)
	require.Empty(t, queue.take())
	found, err := store.Cleanups(t.Context(), created.View.ID.Partition(), 10)
	require.NoError(t, err)
	require.Len(t, found, 1, "the reaper revokes what was made")
}

func TestALeaseThatIsRevokedWhileItIsMadeShowsWhatHasBecomeOfItsExecution(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"it is over": false, "it is deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			broker := &brokers{establish: fmt.Errorf("revoked meanwhile: %w", delegation.ErrLost)}
			linked, store, queue, request := delegating(t, broker)
			broker.meanwhile = func(id execution.ID) {
				_, err := linked.Cancel(t.Context(), id)
				require.NoError(t, err)
				_, err = store.CompleteDelegationCleanup(t.Context(), id, "")
				require.NoError(t, err)
				if deleted {
					require.NoError(t, linked.Delete(t.Context(), id))
				}
			}
			created, err := linked.Create(t.Context(), "key", request)
			require.Empty(t, queue.take())
			if deleted {
				require.ErrorIs(t, err, execution.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, execution.Canceled, created.View.State)
			require.True(t, created.View.Delegation.Revoked)
		})
	}
}

func TestALeaseIsMadeForTheExecutionThatWasReserved(t *testing.T) {
	t.Parallel()
	broker := &brokers{}
	linked, _, _, request := delegating(t, broker)
	created, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.Equal(t, created.View.CreatedAtMs, broker.grants[0].BornMs, "another one of the same key has another birth")
}

func TestARevocationOfAnEarlierExecutionOfTheKeyGoesByItself(t *testing.T) {
	t.Parallel()
	broker := &brokers{establish: fmt.Errorf("revoked before: %w", delegation.ErrLost)}
	linked, store, _, request := delegating(t, broker)
	_, err := linked.Create(t.Context(), "key", request)
	var problem *execution.APIError
	require.ErrorAs(t, err, &problem)
	require.Equal(t, execution.Conflict, problem.Code)
	require.Contains(t, problem.Detail, "with another key")
	require.Positive(t, problem.RetryAfter)
	row, err := store.Get(t.Context(), broker.grants[0].Execution)
	require.NoError(t, err)
	require.Equal(t, execution.Queued, row.State, "somebody may come back for it")
	broker.establish = nil
	created, err := linked.Create(t.Context(), "key", request)
	require.NoError(t, err)
	require.NotZero(t, created.View.Delegation.ExpiresAtMs)
}
