package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
)

// Worker is the other side of Config.Worker: it reads a Spec from in, runs the load, writes a line with its counters
// whenever it is asked for one, and ends with in or with ctx.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	if !lines.Scan() {
		return errors.New("bench worker: no spec")
	}
	var spec Spec
	if err := json.Unmarshal(lines.Bytes(), &spec); err != nil {
		return fmt.Errorf("bench worker: spec: %w", err)
	}
	work, err := spec.start(ctx)
	if err != nil {
		return err
	}
	answers := json.NewEncoder(out)
	for first := true; first || lines.Scan(); first = false { // the first line says that it works
		snap, err := work.Snap(ctx)
		if err == nil {
			err = answers.Encode(snap)
		}
		if err != nil {
			return errors.Join(err, work.Close(ctx))
		}
	}
	return work.Close(ctx)
}

// remoteLoad is a load in another process.
type remoteLoad struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
	mu  sync.Mutex
}

func startRemote(ctx context.Context, command func() *exec.Cmd, spec Spec) (*remoteLoad, error) {
	cmd := command()
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: start a worker: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: start a worker: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start a worker: %w", err)
	}
	l := &remoteLoad{cmd: cmd, in: in, out: json.NewDecoder(out)}
	var ready Snap
	if err := errors.Join(json.NewEncoder(in).Encode(spec), l.out.Decode(&ready)); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: worker: %w", err), l.Close(ctx))
	}
	return l, nil
}

// Snap implements load.
func (l *remoteLoad) Snap(context.Context) (Snap, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var snap Snap
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		return snap, fmt.Errorf("bench: ask a worker: %w", err)
	}
	if err := l.out.Decode(&snap); err != nil {
		return snap, fmt.Errorf("bench: answer of a worker: %w", err)
	}
	return snap, nil
}

// Close implements load.
func (l *remoteLoad) Close(context.Context) error {
	return errors.Join(l.in.Close(), l.cmd.Wait())
}

// group is several loads as one.
type group []load

// startWorkers runs the spec in n processes that share its concurrency and its chains.
func startWorkers(ctx context.Context, command func() *exec.Cmd, spec Spec, n int) (load, error) {
	var all group
	for i := range n {
		part := spec
		part.Concurrency = share(spec.Concurrency, n, i)
		part.Chains = share(spec.Chains, n, i)
		one, err := startRemote(ctx, command, part)
		if err != nil {
			return nil, errors.Join(err, all.Close(ctx))
		}
		all = append(all, one)
	}
	return all, nil
}

// share is part i of n of a whole.
func share(whole, n, i int) int {
	part := whole / n
	if i < whole%n {
		part++
	}
	return part
}

// Snap implements load.
func (g group) Snap(ctx context.Context) (Snap, error) {
	var sum Snap
	for _, one := range g {
		snap, err := one.Snap(ctx)
		if err != nil {
			return sum, err
		}
		sum = sum.plus(snap)
	}
	return sum, nil
}

// Close implements load.
func (g group) Close(ctx context.Context) error {
	errs := make([]error, len(g))
	var all sync.WaitGroup
	for i, one := range g {
		all.Go(func() { errs[i] = one.Close(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
