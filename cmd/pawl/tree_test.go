package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestShow_PrintsTheTreeOfAnExecution(t *testing.T) {
	t.Parallel()
	child := func(tail string, state execution.State, agent string) execution.Child {
		return execution.Child{ID: execution.ID("exec_07" + tail), Call: execution.CallID("call_0_" + tail), Agent: agent, State: state}
	}
	api := newFake(execution.View{
		Agent: "lead", State: execution.Running,
		Parent:   &execution.Parent{Execution: "exec_07ROOT", Call: "call_3_1"},
		Children: []execution.Child{child("A", execution.Running, "researcher"), child("B", "", ""), child("C", execution.Failed, "writer")},
	})
	api.views = map[execution.ID]execution.View{
		"exec_07A": {Children: []execution.Child{child("D", execution.Queued, "critic")}}, "exec_07C": {}, "exec_07D": {},
	}
	out := typeCommand(t, api, true, nil, "show", string(anID)).out
	require.Regexp(t, `child of +exec_07ROOT, call call_3_1\n`, out)
	require.Contains(t, out, "\nchildren\n"+
		"  call_0_A    exec_07A  researcher  running\n"+
		"    call_0_D  exec_07D  critic      queued\n"+
		"  call_0_B    exec_07B              deleted\n"+
		"  call_0_C    exec_07C  writer      failed\n")
}

func TestShow_AsksForNoMoreOfATreeThanItsBound(t *testing.T) {
	t.Parallel()
	view := execution.View{Agent: "lead", State: execution.Running}
	for range 200 {
		view.Children = append(view.Children, execution.Child{ID: anID, Call: "call_0_0", Agent: "lead", State: execution.Running})
	}
	api := newFake(view)
	require.Contains(t, typeCommand(t, api, true, nil, "show", string(anID)).out, "and more: no more than 100 executions")
}
