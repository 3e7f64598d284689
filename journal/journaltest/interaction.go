package journaltest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func interactionClauses() []clause {
	return []clause{
		{name: "contract C, begin_interaction: parks with its event and ends the claim", run: begin},
		{name: "contract C, begin_interaction: another open one, and one that was answered before, are refused", run: beginTwice},
		{name: "begin_interaction is refused when a cancel or a pause is recorded", run: beginCanceled},
		{name: "a commit that asks while another question is unused, or asks again, is refused", run: commitAsksTwice},
		{name: "contract C, commit_interaction_input and JournalInputReceipt: receipt, inbox, state and event are one write", run: input},
		{name: "case K2: one answer per request, repeated by its operation id also when the execution has ended", run: inputTwice},
		{name: "case K2: of many concurrent answers exactly one wins", run: inputRace},
		{name: "contract C, complete_interaction: closes what was answered, once", run: completeInteraction},
		{name: "a commit that consumes the entry closes the interaction", run: consume},
		{name: "the view shows the open interaction and what it waits for", run: showInteraction},
	}
}

func begin(t *testing.T, b *bench) {
	a := b.reserve().claim()
	before := a.row()
	answer, err := b.Store.BeginInteraction(b.ctx(), a.next(), question())
	require.NoError(t, err)
	row := answer.Execution
	i := question()
	require.Equal(t, &i, row.PendingInteraction)
	require.Equal(t, execution.WaitingForInput, row.State)
	require.Equal(t, &execution.Wait{Kind: execution.WaitInput}, row.Wait)
	require.Equal(t, before.Version+1, row.Version)
	require.Equal(t, before.Step, row.Step)
	require.Nil(t, row.Claim)
	require.Empty(t, answer.Tasks)
	require.Equal(t, canonical(t, execution.InteractionRequired{RequestID: theRequest, Kind: execution.Approval, Prompt: "Book it?"}),
		canonical(t, answer.Event.Payload))
	entry := a.entry()
	require.Equal(t, "due", entry.Index)
	require.Equal(t, b.clock.Ms()+b.cfg.LookAgain.Milliseconds(), entry.AtMs)
}

func beginTwice(t *testing.T, b *bench) {
	a := b.answered()
	other := question()
	other.RequestID = "request-2"
	b.unchanged(func() {
		for _, i := range []execution.Interaction{other, question(), {}} {
			_, err := b.Store.BeginInteraction(b.ctx(), a.next(), i)
			require.ErrorIs(t, err, journal.ErrConflict)
		}
	})
	_, err := b.Store.CompleteInteraction(b.ctx(), a.next(), theRequest)
	require.NoError(t, err)
	b.unchanged(func() {
		_, err := b.Store.BeginInteraction(b.ctx(), a.next(), question())
		require.ErrorIs(t, err, journal.ErrConflict, "it was answered")
	})
	_, err = b.Store.BeginInteraction(b.ctx(), a.next(), other)
	require.NoError(t, err)
}

func beginCanceled(t *testing.T, b *bench) {
	for _, record := range []func(a *actor){func(a *actor) { a.cancel() }, func(a *actor) { a.pause() }} {
		a := b.reserve().claim()
		record(a)
		b.unchanged(func() {
			_, err := b.Store.BeginInteraction(b.ctx(), a.next(), question())
			require.ErrorIs(t, err, journal.ErrState)
		})
	}
}

func commitAsksTwice(t *testing.T, b *bench) {
	a := b.answered()
	second := func(i *execution.Interaction) { i.RequestID = "request-2" }
	b.unchanged(func() {
		_, err := b.Store.Commit(b.ctx(), a.commitOf(ask(second)))
		require.ErrorIs(t, err, journal.ErrConflict)
		_, err = b.Store.Commit(b.ctx(), a.commitOf(ask(), consuming))
		require.ErrorIs(t, err, journal.ErrConflict, "it was answered")
	})
	require.Equal(t, execution.WaitingForInput, a.commit(ask(second), consuming).State)
}

func consuming(q *journal.Commit) { q.Consumed = []execution.RequestID{theRequest} }

func input(t *testing.T, b *bench) {
	a := b.arrange(execution.WaitingForInput)
	before := a.row()
	b.clock.Advance(1_000_000)
	answer := a.input()
	require.False(t, answer.Replayed)
	row := answer.Execution
	require.Equal(t, execution.Running, row.State)
	require.Nil(t, row.Wait)
	require.NotNil(t, row.PendingInteraction, "until somebody uses it")
	require.Equal(t, before.Version+1, row.Version)
	require.Equal(t, before.Wake+1, row.Wake)
	require.Equal(t, []execution.Task{{Execution: a.id, Step: 1, Wake: row.Wake, Queue: "default"}}, answer.Tasks)
	require.Equal(t, map[execution.OperationID]journal.InputReceipt{
		"op-1": {RequestID: theRequest, ResponseText: theInput().Response, EventSequence: answer.Event.Sequence},
	}, row.InputReceipts)
	require.Equal(t, canonical(t, execution.InteractionReceived{RequestID: theRequest}), canonical(t, answer.Event.Payload))
	require.Equal(t, "handoff", a.entry().Index)
	a.claim()
	require.Equal(t, []journal.InboxEntry{{RequestID: theRequest, Payload: []byte(theInput().Response)}}, a.claimed.Inbox)
}

func inputTwice(t *testing.T, b *bench) {
	a := b.arrange(execution.WaitingForInput)
	b.unchanged(func() {
		wrong := theInput()
		wrong.RequestID = "another"
		_, err := b.Store.CommitInteractionInput(b.ctx(), a.id, wrong)
		require.ErrorIs(t, err, journal.ErrInteractionClosed)
	})
	first := a.input()
	again := func() {
		b.unchanged(func() {
			answer := a.input()
			require.True(t, answer.Replayed)
			require.Equal(t, canonical(t, first.Event), canonical(t, answer.Event))
			for _, change := range []func(*journal.InteractionInput){
				func(i *journal.InteractionInput) { i.Response = "no" },
				func(i *journal.InteractionInput) { i.RequestID = "another" },
			} {
				other := theInput()
				change(&other)
				_, err := b.Store.CommitInteractionInput(b.ctx(), a.id, other)
				require.ErrorIs(t, err, journal.ErrConflict)
				other.OperationID = "op-2"
				_, err = b.Store.CommitInteractionInput(b.ctx(), a.id, other)
				require.ErrorIs(t, err, journal.ErrInteractionClosed)
			}
		})
	}
	again()
	require.Len(t, a.tasks, 1, "a task that may have been lost comes again")
	a.claim()
	again()
	require.Empty(t, a.tasks)
	a.commit(completeWith("done"), consuming)
	again()
}

func inputRace(t *testing.T, b *bench) {
	a := b.arrange(execution.WaitingForInput)
	won := make(chan execution.OperationID, 10)
	done := make(chan struct{})
	for n := range 10 {
		go func() {
			defer func() { done <- struct{}{} }()
			operation := execution.OperationID(rune('a' + n))
			_, err := b.Store.CommitInteractionInput(b.ctx(), a.id, journal.InteractionInput{
				OperationID: operation, RequestID: theRequest, Response: string(operation),
			})
			if err == nil {
				won <- operation
			}
		}()
	}
	for range 10 {
		<-done
	}
	require.Len(t, won, 1)
	a.claim()
	require.Len(t, a.claimed.Inbox, 1)
	require.Equal(t, string(<-won), string(a.claimed.Inbox[0].Payload))
}

func completeInteraction(t *testing.T, b *bench) {
	a := b.answered()
	b.unchanged(func() {
		_, err := b.Store.CompleteInteraction(b.ctx(), a.next(), "another")
		require.ErrorIs(t, err, journal.ErrConflict)
	})
	before := a.row()
	row, err := b.Store.CompleteInteraction(b.ctx(), a.next(), theRequest)
	require.NoError(t, err)
	require.Nil(t, row.PendingInteraction)
	require.Equal(t, before.LastSequence, row.LastSequence, "no event")
	require.Equal(t, before.Version+1, row.Version)
	again, err := b.Store.CompleteInteraction(b.ctx(), a.next(), theRequest)
	require.NoError(t, err, "closed already, with a receipt")
	require.Equal(t, rowText(t, row), rowText(t, again))
	a.release()
	a.claim()
	require.Empty(t, a.claimed.Inbox)
}

func consume(t *testing.T, b *bench) {
	a := b.answered()
	a.commit(goOn(), consuming, func(q *journal.Commit) { q.Consumed = append(q.Consumed, "never-there") })
	require.Nil(t, a.row().PendingInteraction)
	a.claim()
	require.Empty(t, a.claimed.Inbox)
}

func showInteraction(t *testing.T, b *bench) {
	a := b.reserve().claim()
	at := b.clock.Ms() + 5000
	a.commit(ask(func(i *execution.Interaction) {
		i.Kind, i.ExpiresAtMs = execution.Authentication, at
		i.Calls = []execution.InteractionCall{{CallID: theCall, Name: "confirm", Arguments: []byte(`{"a":[]}`)}}
	}))
	row := a.row()
	view := row.View()
	require.Equal(t, &execution.Wait{Kind: execution.WaitAuth, UntilMs: at}, view.Wait)
	require.JSONEq(t, `{"a":[]}`, string(view.Interaction.Calls[0].Arguments))
	a.pause()
	row = a.row()
	require.NotNil(t, row.View().Interaction, "it stays open")
}
