package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/version"
)

// Program is one of the three: its name, what it is for, its settings, and what it does with them.
type Program struct {
	Name    string
	Purpose string
	Config  any // a pointer to the program's settings; Load fills it
	Log     func() config.Log
	Run     func(ctx context.Context, deps Deps) error
}

// The exit codes of a program.
const (
	exitDone  = 0
	exitError = 1
	exitUsage = 2
)

// Main runs a program from its command line to its end and returns its exit code. It takes no flags but -h, --help and
// --version. SIGTERM and SIGINT stop it in order; a second one ends it at once.
func Main(p Program, args []string, stdout, stderr io.Writer) int {
	if done, code := p.flags(args, stdout, stderr); done {
		return code
	}
	if err := config.Load(p.Config); err != nil {
		_, _ = fmt.Fprintf(stderr, "%s: the settings are not right:\n%v\n", p.Name, err) // the exit code says it too
		return exitUsage
	}
	logger := NewLogger(stderr, p.Log()).With("program", p.Name)
	AdoptRedisLog(logger)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // from here on a signal ends the process
	}()
	logger.Info("starting", "build", version.Read().String(), "pid", os.Getpid())
	err := p.Run(ctx, Deps{Logger: logger, Again: Hangups(ctx, stop)})
	if err != nil && !errors.Is(err, context.Canceled) {
		logger.Error("ended by an error", "error", err)
		return exitError
	}
	logger.Info("stopped")
	return exitDone
}

// flags answers -h and --version and refuses the rest. done says that the program has nothing else to do.
func (p *Program) flags(args []string, stdout, stderr io.Writer) (done bool, code int) {
	if len(args) == 0 {
		return false, exitDone
	}
	if len(args) == 1 {
		switch args[0] {
		case "-h", "-help", "--help":
			return true, p.help(stdout)
		case "-version", "--version":
			return true, printed(fmt.Fprintln(stdout, p.Name, version.Read()))
		}
	}
	_, _ = fmt.Fprintf(stderr, "%s takes no arguments: it is configured by the environment. Try: %s -h\n", p.Name, p.Name)
	return true, exitUsage
}

func (p *Program) help(stdout io.Writer) int {
	if code := printed(fmt.Fprintf(stdout, "%s\n\nUsage: %s [-h | --version]\n\n"+
		"It is configured by the environment; unknown PAWL_ names are refused, an empty value counts as not set:\n\n",
		p.Purpose, p.Name)); code != exitDone {
		return code
	}
	return printed(0, config.Usage(stdout, p.Config))
}

func printed(_ int, err error) int {
	if err != nil {
		return exitError
	}
	return exitDone
}
