package execution_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/execution"
)

func TestAChildsIDsDependOnParentAndCallAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := execution.Partition(rapid.IntRange(0, execution.Partitions-1).Draw(t, "partition"))
		parent := execution.NewID(p)
		call := execution.NewCallID(rapid.IntRange(0, 9).Draw(t, "turn"), rapid.IntRange(0, 9).Draw(t, "index"))
		id, conversation := execution.ChildID(parent, call), execution.ChildConversationID(parent, call)
		require.Equal(t, id, execution.ChildID(parent, call))
		require.NotEqual(t, id, execution.ChildID(parent, call+"0"))
		require.NotEqual(t, id, execution.ChildID(id, call), "a grandchild of an equal call is another one")
		parsed, err := execution.ParseID(string(id))
		require.NoError(t, err)
		require.Equal(t, p, parsed.Partition())
		_, err = execution.ParseConversationID(string(conversation))
		require.NoError(t, err)
		require.NotEqual(t, string(id[len("exec_"):]), string(conversation[len("conv_"):]))
	})
}

func TestAChildsRequestNamesItsCall(t *testing.T) {
	t.Parallel()
	require.Equal(t, execution.RequestID("child:call_1_0"), execution.ChildRequest("call_1_0"))
}
