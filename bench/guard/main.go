package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/pawl-run/pawl/bench"
)

// settings are what the flags say.
type settings struct {
	base, pattern, times, benchstat, keep string
	pairs                                 int
}

func main() {
	var s settings
	flag.StringVar(&s.base, "base", "HEAD~1", "the commit to compare the working tree with")
	flag.IntVar(&s.pairs, "pairs", 10, "how often each side runs; benchstat needs 6 to be sure of anything")
	flag.StringVar(&s.pattern, "bench", "Step|Submit", "the benchmarks to run, a regular expression")
	flag.StringVar(&s.times, "times", "1500x", "how many operations each benchmark runs; a multiple of 30x cuts no execution")
	flag.StringVar(&s.benchstat, "benchstat", "benchstat", "the program benchstat")
	flag.StringVar(&s.keep, "keep", "", "keep what the benchmarks print in this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	worse, err := s.run(ctx, os.Stdout)
	stop()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "guard:", err)
		os.Exit(2)
	case worse:
		os.Exit(1)
	}
}

// run compares and says whether something is worse than it was.
func (s *settings) run(ctx context.Context, out io.Writer) (worse bool, err error) {
	dir, err := os.MkdirTemp("", "pawl-guard")
	if err != nil {
		return false, fmt.Errorf("temporary folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	sides, err := build(ctx, s.base, dir)
	if err != nil {
		return false, err
	}
	url, stop, err := bench.StartRedis(ctx)
	if err != nil {
		return false, err
	}
	defer stop()
	for pair := range s.pairs {
		for i := range sides {
			if pair%2 == 1 { // whatever drifts favors nobody
				i = len(sides) - 1 - i
			}
			say(out, "%d/%d %s", pair+1, s.pairs, sides[i].name)
			if err := sides[i].measure(ctx, url, s.pattern, s.times); err != nil {
				return false, err
			}
		}
	}
	if s.keep != "" {
		for _, one := range sides {
			if err := os.WriteFile(filepath.Join(s.keep, filepath.Base(one.output)), one.printed, 0o600); err != nil {
				return false, fmt.Errorf("keep the output: %w", err)
			}
		}
	}
	return s.judge(ctx, out, sides)
}
