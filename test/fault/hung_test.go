//go:build faultpoint

package fault

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const listless = `
agents:
  listless:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: web_read, arguments: {}}]
        - {text: "Read."}
    tools:
      - {name: web, type: mcp, url: "$WEB", trustHints: true}
`

// Case D1: a server that does not answer when it is asked for its tools costs no claim, however often that would have run
// out meanwhile, and a cancel is not taken for anything else.
func TestCaseD1_AHungListOfToolsDoesNotEatTheClaim(t *testing.T) {
	t.Parallel()
	tools, answer := harness.Tools(t), make(chan struct{})
	url := harness.MCPHung(t, tools, "/web", answer)
	stack := harness.New(t, harness.Config{Agents: strings.ReplaceAll(listless, "$WEB", url), ClaimTTL: time.Second})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	waits, canceled := api.Submit("listless", "Read it."), api.Submit("listless", "Read it.")
	for _, id := range []execution.ID{waits.ID, canceled.ID} {
		harness.Eventually(t, endTimeout, "the step that needs the tools is claimed", func() bool {
			holder := stack.Holder(id)
			return holder.Worker != "" && holder.Node == "before_model_request"
		})
	}
	held := stack.Holder(waits.ID).Fence
	since := time.Now()
	harness.Eventually(t, endTimeout, "the claim would have run out three times", func() bool {
		holder := stack.Holder(waits.ID)
		require.Equal(t, held, holder.Fence, "the very same claim")
		require.NotEmpty(t, holder.Worker)
		return time.Since(since) > 3*stack.Config.ClaimTTL
	})
	asked, span := time.Now(), stack.Span()
	api.Cancel(canceled.ID)
	api.AwaitState(canceled.ID, endTimeout, execution.Canceled)
	span.Within(t, time.Since(asked), stopBound, "the cancel")
	close(answer)
	view := api.AwaitState(waits.ID, endTimeout, execution.Completed)
	require.Equal(t, "Read.", view.Outcome.Answer)
	for _, id := range []execution.ID{waits.ID, canceled.ID} {
		events := api.Events(id)
		harness.CheckLog(t, id, events)
		require.Zero(t, harness.CountWarnings(events, execution.WarningReclaimed))
	}
	require.Len(t, tools.Calls("/web/read"), 1)
}
