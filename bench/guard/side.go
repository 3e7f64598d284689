package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// benchPackage is where the benchmarks are, from the root of the repository.
const benchPackage = "bench"

// redisEnv tells the benchmarks which Redis to measure on.
const redisEnv = "BENCH_REDIS"

// side is one of the two that are compared.
type side struct {
	name    string // for people
	binary  string // the test program of the benchmarks
	folder  string // where it runs
	output  string // a file with all it has printed
	printed []byte
}

// build makes the test programs of the base, in a work tree of its own in dir, and of the working tree.
func build(ctx context.Context, base, dir string) (sides []*side, err error) {
	root, err := output(ctx, "", "git", "rev-parse", "--show-toplevel")
	if err != nil {
		return nil, err
	}
	commit, err := output(ctx, root, "git", "rev-parse", "--short", base+"^{commit}")
	if err != nil {
		return nil, fmt.Errorf("there is no commit %s here (a shallow clone has few: fetch more): %w", base, err)
	}
	tree := filepath.Join(dir, "base")
	if _, err := output(ctx, root, "git", "worktree", "add", "--detach", tree, commit); err != nil {
		return nil, err
	}
	defer func() {
		_, errRemove := output(context.WithoutCancel(ctx), root, "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, errRemove)
	}()
	sides = []*side{
		{name: "base, " + commit, folder: tree, binary: filepath.Join(dir, "base.test"), output: filepath.Join(dir, "base.txt")},
		{name: "the working tree", folder: root, binary: filepath.Join(dir, "new.test"), output: filepath.Join(dir, "new.txt")},
	}
	for _, s := range sides {
		if _, err := output(ctx, s.folder, "go", "test", "-c", "-o", s.binary, "./"+benchPackage); err != nil {
			return nil, fmt.Errorf("build %s: %w", s.name, err)
		}
		s.folder = dir // the work tree goes away
	}
	return sides, nil
}

// measure runs the benchmarks once and adds what they print to the output.
func (s *side) measure(ctx context.Context, url, pattern, times string) error {
	cmd := exec.CommandContext(ctx, s.binary, "-test.run", "^$", "-test.bench", pattern, "-test.benchtime", times, "-test.timeout", "10m")
	cmd.Dir, cmd.Env = s.folder, append(os.Environ(), redisEnv+"="+url)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("benchmarks of %s: %w\n%s%s", s.name, err, printed, errs.Bytes())
	}
	s.printed = append(s.printed, printed...)
	return os.WriteFile(s.output, s.printed, 0o600)
}

// output runs a command and returns what it prints, without the last line break.
func output(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	var errs bytes.Buffer
	cmd.Stderr = &errs
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, errs.Bytes())
	}
	return strings.TrimRight(string(printed), "\n"), nil
}
