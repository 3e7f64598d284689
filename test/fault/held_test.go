//go:build faultpoint

package fault

import (
	"strings"
	"sync"
	"testing"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
)

// heldAgent thinks for as long as a test lets its model: what a test does "while the model is asked" needs no luck with time.
const heldAgent = `
agents:
  thinker:
    model: {provider: openai, name: test-model, baseURL: "$MODELS/v1"}
`

// heldModel is the model of heldAgent.
type heldModel struct {
	*modelserver.Server
	agents string
}

// holdModel starts a model whose answers wait for hold to return; with the end of the test they come anyway. hold is given
// the number of the request, from 1.
func holdModel(t *testing.T, hold func(request int)) *heldModel {
	t.Helper()
	var (
		mu    sync.Mutex
		count int
	)
	models := modelserver.New(t, func(modelserver.Request) modelserver.Reply {
		mu.Lock()
		count++
		number := count
		mu.Unlock()
		free := make(chan struct{})
		go func() {
			defer close(free)
			hold(number)
		}()
		select {
		case <-free:
		case <-t.Context().Done():
		}
		return modelserver.Reply{Text: []string{"Thought."}}
	})
	return &heldModel{Server: models, agents: strings.ReplaceAll(heldAgent, "$MODELS", models.URL)}
}

// awaitRequest waits until the model has been asked so often, and returns who holds the execution that asked last.
func (m *heldModel) awaitRequest(t *testing.T, stack *harness.Stack, id execution.ID, number int) harness.Holder {
	t.Helper()
	harness.Eventually(t, endTimeout, "the model is asked", func() bool { return len(m.Exchanges()) >= number })
	return stack.Holder(id)
}
