package app

import (
	"context"
	"os"
	"os/signal"
)

// Hangups turns the system's signal to read settings again (SIGHUP) into messages, until ctx ends. When the signal means
// that the terminal has gone, ended is called: nobody is there any more to read what the program says. Where the system
// has no such signal, nothing ever comes.
func Hangups(ctx context.Context, ended func()) <-chan struct{} {
	hup := hangup()
	if hup == nil {
		return nil
	}
	atTerminal := hasTerminal() && !signal.Ignored(hup)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, hup)
	again := make(chan struct{}, 1)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-ctx.Done():
				return
			case <-signals:
			}
			if atTerminal && !hasTerminal() {
				ended()
				return
			}
			select {
			case again <- struct{}{}:
			default: // one that has not been served yet says the same
			}
		}
	}()
	return again
}
