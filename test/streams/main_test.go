package streams

import (
	"context"
	"crypto/rand"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/journal/redisjournal"
	"github.com/pawl-run/pawl/link"
	"github.com/pawl-run/pawl/link/linktest"
	"github.com/pawl-run/pawl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// full reports whether the figures of the goal are wanted, or fewer.
func full() bool { return os.Getenv("SOAK") == "1" }

const agents = `
agents:
  demo:
    model: {provider: scripted, turns: [{text: done}]}
`

// world is an installation without workers: the test commits the steps.
type world struct {
	*harness.Stack
	t     *testing.T
	store *redisjournal.Store
	link  link.RuntimeLink
}

type nowhere struct{}

func (nowhere) Enqueue(context.Context, ...execution.Task) error { return nil }

func newWorld(t *testing.T) *world {
	t.Helper()
	stack := harness.New(t, harness.Config{Agents: agents, Tag: "none"})
	store, err := redisjournal.New(stack.Redis, redisjournal.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	service, err := link.New(link.Config{
		Journal: store, Catalog: linktest.Catalog(t), Enqueuer: nowhere{},
		Opening: linktest.OpenWith, Boundary: linktest.BoundaryOf, Message: linktest.MessageOf, Call: linktest.CallOf, Forking: linktest.ForkWith,
	})
	require.NoError(t, err)
	return &world{Stack: stack, t: t, store: store, link: service.As(execution.LocalAuthority())}
}

// run is an execution that the test holds.
type run struct {
	id    execution.ID
	fence journal.Fence
	step  execution.Step
}

const forever = time.Hour

// start submits an execution and takes its claim.
func (w *world) start(ctx context.Context) (*run, error) {
	created, err := w.link.Create(ctx, "", linktest.Request("hello"))
	if err != nil {
		return nil, err
	}
	id := created.View.ID
	claimed, err := w.store.Claim(ctx, journal.ClaimRequest{Execution: id, Worker: "test", Nonce: rand.Text(), TTL: forever})
	if err != nil {
		return nil, err
	}
	return &run{id: id, fence: claimed.Fence}, nil
}

// commit writes a step with one event; the last one ends the execution.
func (w *world) commit(ctx context.Context, r *run, last bool) error {
	commit := journal.Commit{
		Hold: journal.Hold{Execution: r.id, Fence: r.fence}, Step: r.step, Node: "model_response", Checkpoint: []byte(`{"v":1}`),
		Then: journal.Then{Kind: journal.ThenContinue}, Keep: forever,
	}
	if last {
		commit.Keep, commit.Then = 0, journal.Then{Kind: journal.ThenEnd, Outcome: &execution.Outcome{Answer: "done"}}
	} else {
		commit.Events = []execution.Payload{execution.Warning{Code: "step", Message: strings.Repeat("x", 100)}}
	}
	if _, err := w.store.Commit(ctx, commit); err != nil {
		return err
	}
	r.step++
	return nil
}

// memory is a figure of /proc/<pid>/status in bytes; 0 where there is none.
func memory(p *harness.Process, name string) int64 {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID()) + "/status")
	if err != nil {
		return 0
	}
	for line := range strings.SplitSeq(string(status), "\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kb << 10
		}
	}
	return 0
}
