package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/version"
)

// The exit codes.
const (
	exitCompleted   = 0
	exitFailed      = 1
	exitUsage       = 2
	exitCanceled    = 3
	exitSuspended   = 4
	exitNoAnswer    = 5
	exitInterrupted = 130
	exitPipe        = 141 // what a shell says of a program that a closed pipe has ended
)

// streams are the program's ends to its user.
type streams struct {
	in                      io.Reader
	out, err                io.Writer
	inTerminal, outTerminal bool
}

// exit is an error that carries its exit code. Without err nothing more is to be said.
type exit struct {
	code int
	err  error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// fail is an error of a command that was used rightly.
func fail(format string, args ...any) error {
	return &exit{code: exitNoAnswer, err: fmt.Errorf(format, args...)}
}

// wrongUsage is an error of whoever typed the command.
func wrongUsage(format string, args ...any) error {
	return &exit{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, s streams, dial dialer) int {
	root := newRoot(s, dial) //nolint:contextcheck // each command takes the context that ExecuteContext hands it
	root.SetArgs(args)
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	typed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitCompleted
	}
	var coded *exit
	if !errors.As(err, &coded) { // cobra's own: an unknown command or flag, a missing argument
		coded = &exit{code: exitUsage, err: fmt.Errorf("%w\n%s", err, tryHelp(typed))}
	}
	if readerHasGone(err) {
		return exitPipe
	}
	if coded.err != nil {
		_, _ = fmt.Fprintln(s.err, "pawl: "+coded.err.Error()) // the exit code says it too
	}
	return coded.code
}

// readerHasGone reports whether whoever read the output has enough. A connection that a server closed breaks in the same way,
// and that has to be told.
func readerHasGone(err error) bool {
	var connection *net.OpError
	return errors.Is(err, syscall.EPIPE) && !errors.As(err, &connection)
}

// tryHelp is what to type after a command line that was not understood.
func tryHelp(typed *cobra.Command) string {
	try := fmt.Sprintf("Try: %s -h", typed.CommandPath())
	if typed.HasParent() {
		return fmt.Sprintf("Usage: %s\n%s", typed.UseLine(), try)
	}
	return try
}

const rootHelp = `Pawl runs AI-agent executions durably on Redis.

Start here, the second line in another terminal:
  pawl dev
  pawl submit --watch demo "Oslo"

Exit codes: 0 done, or the execution completed; 1 it failed; 2 wrong usage; 3 canceled; 4 suspended; 5 no answer or a refusal;
130 interrupted; 141 the reader of a pipe has gone.

What people read is for people: scripts take --json, which most commands have, one value or one per line. Nothing is colored,
and nothing is asked where there is no terminal. What can be completed: ` + "`pawl completion -h`" + `.

The names of the environment that the commands obey which talk to an API:

`

func newRoot(s streams, dial dialer) *cobra.Command {
	root := &cobra.Command{
		Use: "pawl", Short: "Run AI-agent executions durably", Long: asTyped(self(), rootHelp) + usageOf(&config.Client{}),
		Version: version.Read().String(), Annotations: map[string]string{cobra.CommandDisplayNameAnnotation: self()},
		SilenceUsage: true, SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return refuseEmpty(cmd.Flags()) },
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("pawl {{.Version}}\n")
	root.AddCommand(newDev(s), newSubmit(s, dial), newList(s, dial), newShow(s, dial), newWatch(s, dial),
		newEvents(s, dial), newWhy(s, dial),
		newInput(s, dial), newCancel(s, dial), newPause(s, dial), newResume(s, dial), newRelease(s, dial), newFork(s, dial),
		newDelete(s, dial), newBulk(s, dial), newMessages(s, dial), newCheckpoints(s, dial), newCalls(s, dial), newBlob(s, dial), newToken(s, dial),
		newAgents(s, dial), newKeys(s), newDoctor(s), newBench(s), newBenchWorker(s), newVersion(s))
	completeArguments(root, dial)
	return root
}
