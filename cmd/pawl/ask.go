package main

import (
	"context"
	"io"
	"strings"
)

// confirm asks a person whether to do what cannot be undone. Without a terminal there is nobody to ask, and --yes has to be
// given. It returns an error unless it is to be done.
func confirm(ctx context.Context, s streams, yes bool, question string) error {
	if yes {
		return nil
	}
	if !s.inTerminal {
		return wrongUsage("this cannot be undone, and there is no terminal to ask at: repeat it with --yes if it is meant")
	}
	if _, err := io.WriteString(s.err, question+" [y/N] "); err != nil {
		return fail("ask: %w", err)
	}
	select {
	case <-ctx.Done():
		return &exit{code: exitInterrupted}
	case line := <-readLines(s.in):
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "y", "yes":
			return nil
		}
		return fail("nothing was done")
	}
}
