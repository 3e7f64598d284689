package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/journal"
)

// historySweep is what the journal's calls of a step send and take at the beginning of a history and far into it.
func historySweep(ctx context.Context, env *Env) (Result, error) {
	r := Result{Title: "History: 10 and 1,000 messages"}
	lengths := []int{10, 100, 1000}
	executions := max(2, min(50, int(env.cfg.Duration.Seconds()*10)))
	for pair := range env.cfg.Pairs {
		windows := make([]Snap, len(lengths))
		for i, n := range lengths {
			snap, err := env.withHistory(ctx, n, executions)
			if err != nil {
				return r, err
			}
			windows[i] = snap
			env.say("  %d/%d  %d messages", pair+1, env.cfg.Pairs, n)
		}
		for i, n := range lengths {
			addHistory(&r, fmt.Sprintf("%d messages", n), windows[i], windows[0])
		}
	}
	last := fmt.Sprintf("%d messages", lengths[len(lengths)-1])
	r.goal(last+": bytes written, of 10", atMost(1.02))
	r.goal(last+": claim and commit, of 10", atMost(1.15))
	r.Notes = append(r.Notes, "One execution at a time. Bytes are those of the arguments of claim, receipt and commit. "+
		"Messages are of about 500 bytes.")
	return r, nil
}

func addHistory(r *Result, name string, at, first Snap) {
	bytes := func(s Snap) float64 {
		return float64(s.Labels["claim"].Bytes+s.Labels["record"].Bytes+s.Labels["commit"].Bytes) / float64(s.Steps)
	}
	took := func(s Snap) float64 {
		return float64(s.Labels["claim"].Nanos+s.Labels["commit"].Nanos) / float64(s.Steps) / 1e6
	}
	r.add(name+": bytes written per step", "B", bytes(at))
	r.add(name+": bytes written, of 10", "×", ratio(bytes(at), bytes(first)))
	r.add(name+": claim and commit", "ms", took(at))
	r.add(name+": claim and commit, of 10", "×", ratio(took(at), took(first)))
}

// withHistory runs so many executions, one after the other, each in a conversation that holds n messages before.
func (e *Env) withHistory(ctx context.Context, n, executions int) (snap Snap, err error) {
	if err := e.main.empty(ctx); err != nil {
		return Snap{}, err
	}
	spec := e.spec(pawl, e.main)
	spec.Chains, spec.Turns, spec.Detailed = 0, 2, true
	l, err := startPawl(ctx, spec)
	if err != nil {
		return Snap{}, err
	}
	defer func() { err = errors.Join(err, l.Close(ctx)) }()
	var before Snap
	for i := range executions + 1 {
		if i == 1 { // the first one fills caches
			if before, err = l.Snap(ctx); err != nil {
				return Snap{}, err
			}
		}
		id, err := l.submitWith(ctx, n)
		if err != nil {
			return Snap{}, err
		}
		if err := l.awaitEnd(ctx, id); err != nil {
			return Snap{}, err
		}
	}
	after, err := l.Snap(ctx)
	return after.minus(before), err
}

// submitWith submits an execution whose conversation holds n messages, its own one included, by the journal's own script.
func (l *pawlLoad) submitWith(ctx context.Context, n int) (execution.ID, error) {
	catalog, err := definitions(l.spec)
	if err != nil {
		return "", err
	}
	definition, _ := catalog.Agent(toolAgent)
	asked := request(toolAgent)
	checkpoint, node, messages, err := executor.Opening(definition, asked)
	if err != nil {
		return "", err
	}
	older, err := chatter(n - len(messages))
	if err != nil {
		return "", err
	}
	if err := l.store.PutDefinition(ctx, definition.Hash(), definition.Canonical()); err != nil {
		return "", err
	}
	p := execution.RandomPartition()
	reservation, err := l.store.Reserve(ctx, journal.NewExecution{
		ID: execution.NewID(p), ConversationID: execution.NewConversationID(p), Fingerprint: "bench",
		Caller: execution.LocalCaller(), Request: asked, Definition: definition.Hash(),
		Checkpoint: checkpoint, Node: node, Messages: append(older, messages...),
	})
	if err != nil {
		return "", err
	}
	return reservation.Execution.ID, l.tasks.Enqueue(ctx, reservation.Tasks...)
}

// chatter is n messages of a person and a model.
func chatter(n int) ([][]byte, error) {
	var out [][]byte
	for i := range n {
		message := execution.Message{Role: execution.RoleUser, Text: strings.Repeat("some words ", 42)}
		if i%2 == 1 {
			message.Role = execution.RoleAssistant
		}
		data, err := json.Marshal(message)
		if err != nil {
			return nil, err
		}
		out = append(out, data)
	}
	return out, nil
}
