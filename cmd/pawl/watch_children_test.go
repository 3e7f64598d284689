package main

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

const (
	firstChild  execution.ID = "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6A1"
	secondChild execution.ID = "exec_0701JDXR4N5Q8ZT7V2M3K4P5W6A2"
)

// parentOf is why an execution waits for two children, the first of which is in the given state.
func parentOf(state execution.State, detail string, needs ...execution.WhyNeed) execution.Why {
	return execution.Why{
		State: execution.Running, WaitingFor: execution.WaitsForChild, Detail: detail, Needs: needs,
		Children: []execution.Child{{ID: firstChild, State: state}, {ID: secondChild, State: execution.Running}},
	}
}

func asks(kind execution.InteractionKind) execution.WhyNeed {
	return execution.WhyNeed{Execution: firstChild, Agent: "researcher", Interaction: question(kind).Interaction}
}

func stopped(detail string) execution.WhyNeed {
	return execution.WhyNeed{Execution: secondChild, Agent: "writer", Suspension: &execution.Suspension{Reason: execution.ReasonLimit, Detail: detail}}
}

func (f *fakeRemote) becomes(why execution.Why) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.why = why
}

func (f *fakeRemote) asked() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.whys
}

func TestWatch_SaysWhatTheChildrenNeedWhenThatChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake := newFake(execution.View{State: execution.Running, Wait: &execution.Wait{Kind: execution.WaitChild}})
		fake.send(&execution.ExecutionQueued{})
		fake.becomes(parentOf(execution.Running, "2 of its 2 children have not ended."))
		go func() {
			<-time.After(time.Hour) // the same all the while
			fake.becomes(parentOf(execution.Running, "Another node of the same child."))
			<-time.After(2 * childrenLatest)
			fake.becomes(parentOf(execution.WaitingForInput, "A person is needed.", asks(execution.Approval), stopped("maxTurns (1)")))
			<-time.After(2 * childrenLatest)
			fake.send(&execution.ExecutionCompleted{})
			fake.end()
		}()
		got := typeCommand(t, fake, false, nil, "watch", string(anID))
		require.Equal(t, 0, got.code)
		require.Contains(t, got.out, `
           2 of its 2 children have not ended.
           A person is needed.
           `+string(firstChild)+` (researcher) asks: Book it?
           call_0_1  confirm {"question":"Book it?"}
           call_0_2  refund {}
           Waiting for a person. Answer with: pawl input `+string(firstChild)+` --request req-1 --approve (or --reject, --edit ARGUMENTS, --answer RESULT; --call CALL for one of them)
           `+string(secondChild)+` (writer) is suspended, limit: maxTurns (1). When what stopped it is mended: pawl resume `+string(secondChild)+` --limits maxTurns=MORE
   0.000s  execution_completed
`)
		require.NotContains(t, got.out, "Another node", "what a child does that works is its own log's")
		require.Less(t, fake.asked(), 80, "in more than an hour")
	})
}

func TestWatch_AsksForNoChildrenWhereNobodyReadsOfThem(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*fakeRemote) []string{
		"it waits for another thing": func(f *fakeRemote) []string {
			f.view.Wait = &execution.Wait{Kind: execution.WaitRemote}
			return nil
		},
		"its events are printed as JSON": func(*fakeRemote) []string { return []string{"--json"} },
	} {
		synctest.Test(t, func(t *testing.T) {
			fake := newFake(execution.View{State: execution.Running, Wait: &execution.Wait{Kind: execution.WaitChild}})
			fake.becomes(parentOf(execution.WaitingForInput, "A person is needed.", asks(execution.Elicitation)))
			args := append([]string{"watch", string(anID)}, change(fake)...)
			go func() {
				<-time.After(time.Hour)
				fake.send(&execution.ExecutionCompleted{})
				fake.end()
			}()
			got := typeCommand(t, fake, false, nil, args...)
			require.Equal(t, 0, got.code, name)
			require.Zero(t, fake.asked(), name)
			require.NotContains(t, got.out, "needed", name)
		})
	}
}

func TestWhy_PrintsTheCommandsThatLetItGoOn(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{})
	fake.why = parentOf(execution.WaitingForInput, "A person is needed.", asks(execution.Approval), stopped(""))
	got := typeCommand(t, fake, false, nil, "why", string(anID))
	for _, want := range []string{
		"\nchild                              " + string(firstChild) + " (researcher)",
		"\nasks                               Book it?",
		"\nabout                              call_0_2  refund {}",
		"\nanswer with                        pawl input " + string(firstChild) + " --request req-1 --approve (or ",
		"\nchild                              " + string(secondChild) + " (writer)",
		"\nsuspended                          limit\n",
		"\ngo on with                         pawl resume " + string(secondChild) + "\n",
	} {
		require.Contains(t, got.out, want)
	}

	fake.why = execution.Why{State: execution.WaitingForInput, WaitingFor: execution.WaitsForInput, Needs: []execution.WhyNeed{
		{Execution: anID, Agent: "demo", Interaction: question(execution.Elicitation).Interaction},
	}}
	got = typeCommand(t, fake, false, nil, "why", string(anID))
	require.NotContains(t, got.out, "child", "the question is its own")
	require.NotContains(t, got.out, "effect")
	require.Contains(t, got.out, "\nanswer with                        pawl input "+string(anID)+" --request req-1 \"your answer\"\n")

	unknown := asks(execution.Approval)
	unknown.Interaction.Reason = execution.OutcomeUnknown
	fake.why = parentOf(execution.WaitingForInput, "A person is needed.", unknown)
	got = typeCommand(t, fake, false, nil, "why", string(anID))
	require.Contains(t, got.out, "  effect "+execution.EffectID(firstChild, "call_0_2")+"\n", "what to look for in the tool")
}
