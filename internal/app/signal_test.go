//go:build unix

package app

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/config"
)

// childName makes this test binary a program that hangs when it is told to stop.
const childName = "APP_TEST_CHILD"

// hang is a program that does not stop when it is told to.
func hang() int {
	return Main(Program{
		Name: "child", Config: &struct{ config.Log }{}, Log: func() config.Log { return config.Log{} },
		Run: func(ctx context.Context, _ Deps) error {
			_, _ = os.Stdout.WriteString("running\n") // the parent waits for it
			<-ctx.Done()
			_, _ = os.Stdout.WriteString("stopping\n") // the parent waits for it
			select {}
		},
	}, nil, os.Stdout, io.Discard)
}

func TestMain_ASecondSignalEndsAProgramThatHangs(t *testing.T) {
	if os.Getenv(childName) != "" {
		os.Exit(hang())
	}
	t.Parallel()
	child := exec.Command(os.Args[0], "-test.run=^TestMain_ASecondSignalEndsAProgramThatHangs$")
	child.Env = append(os.Environ(), childName+"=1")
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	killer := time.AfterFunc(30*time.Second, func() { _ = child.Process.Kill() }) // it may have ended
	defer killer.Stop()
	lines := bufio.NewReader(out)
	for _, want := range []string{"running\n", "stopping\n"} {
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, line)
		require.NoError(t, child.Process.Signal(syscall.SIGTERM))
	}
	// The handler is taken off a moment after the context has ended: a signal may still fall into that moment.
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err = <-ended:
			var exit *exec.ExitError
			require.True(t, errors.As(err, &exit))
			require.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
			return
		case <-tick.C:
			_ = child.Process.Signal(syscall.SIGTERM) // it may have ended
		}
	}
}
