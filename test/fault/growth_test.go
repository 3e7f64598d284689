//go:build faultpoint

package fault

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// growthSlack allows for what a run costs once, whatever its length, and for Redis growing its own tables in leaps.
const growthSlack = 1.15

// footprint is what an execution has cost Redis.
type footprint struct {
	steps      int
	memory     int64 // bytes its keys occupy
	sent       int64 // bytes the programs sent to Redis meanwhile
	checkpoint int   // bytes of its largest checkpoint
}

func TestCaseG7_BytesGrowWithTheStepsAndNotWithTheHistory(t *testing.T) {
	t.Parallel()
	short, long := walkTurns(t, 20), walkTurns(t, 40)
	for _, run := range []footprint{short, long} {
		t.Logf("%d steps: %d bytes in Redis (%d a step), %d bytes sent (%d a step), largest checkpoint %d bytes", run.steps,
			run.memory, run.memory/int64(run.steps), run.sent, run.sent/int64(run.steps), run.checkpoint)
	}
	require.GreaterOrEqual(t, long.steps, 200)
	bound := growthSlack * float64(long.steps) / float64(short.steps)
	require.LessOrEqual(t, float64(long.memory)/float64(short.memory), bound, "memory grows faster than the steps")
	require.LessOrEqual(t, float64(long.sent)/float64(short.sent), bound, "traffic grows faster than the steps")
	require.LessOrEqual(t, float64(long.checkpoint)/float64(short.checkpoint), growthSlack, "checkpoints grow with the history")
}

func walkTurns(t *testing.T, turns int) footprint {
	t.Helper()
	tools := harness.Tools(t)
	answer := fmt.Sprintf(`{"weather": %q}`, strings.Repeat("sunny ", 300))
	tools.Behave("/lookup", func(context.Context, harness.ToolCall) (int, string) { return 200, answer })
	stack := harness.New(t, harness.Config{Agents: agentsFor(tools, longAgent(turns))})
	api := stack.API()
	stack.Worker()
	before := stack.Received()
	view := api.Submit("long", "Oslo, please")
	ctx := context.Background()
	harness.Eventually(t, 2*endTimeout, "it ends", func() bool {
		return stack.Redis.HGet(ctx, harness.RowKey(view.ID), "state").Val() == string(execution.Completed)
	})
	run := footprint{sent: stack.Received() - before}
	for _, key := range stack.Keys("pawl:*") {
		if strings.Contains(key, string(view.ID)) || strings.Contains(key, string(view.ConversationID)) {
			size, err := stack.Redis.MemoryUsage(ctx, key, 0).Result()
			require.NoError(t, err)
			run.memory += size
		}
	}
	checkpoints := stack.Checkpoints(view.ID)
	run.steps = len(checkpoints) - 1
	for _, checkpoint := range checkpoints {
		run.checkpoint = max(run.checkpoint, len(checkpoint))
	}
	harness.CheckLog(t, view.ID, api.Events(view.ID))
	return run
}

func longAgent(turns int) string {
	var yaml strings.Builder
	yaml.WriteString("agents:\n  long:\n    model:\n      provider: scripted\n      turns:\n")
	for range turns {
		yaml.WriteString("        - toolCalls: [{name: lookup, arguments: {city: Oslo}}]\n")
	}
	yaml.WriteString("        - {text: \"Done.\"}\n    tools:\n" +
		"      - {name: lookup, type: http, url: \"$TOOLS/lookup\", recovery: idempotent}\n")
	return yaml.String()
}
