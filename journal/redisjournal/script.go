package redisjournal

import (
	"context"
	"embed"
	"fmt"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation: what all scripts share, and its own file. Run sends its digest and falls back to the source.
type script struct {
	name string
	*redis.Script
	source string
}

// load assembles a script: the constants, lib.lua, moves.lua as the body of its last function, and the script's own file.
func load(constants, name string) *script {
	source := constants + file("lib") + "local function moves()\n" + file("moves") + "end\n" + file(name)
	return &script{name: name, Script: redis.NewScript(source), source: source}
}

func file(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // embedded at build time
	}
	return string(text)
}

// invocation is one script of a pipeline.
type invocation struct {
	keys []string
	args []any
}

// pipeline runs the script once for each invocation in one round trip, and those whose server did not know the digest
// a second time by source: a pipeline has no fallback of its own.
func (s *Store) pipeline(ctx context.Context, script *script, calls []invocation) ([]*redis.Cmd, error) {
	commands := make([]*redis.Cmd, len(calls))
	_, err := s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, call := range calls {
			commands[i] = pipe.EvalSha(ctx, script.Hash(), call.keys, call.args...)
		}
		return nil
	})
	missing := unknownScripts(commands)
	if len(missing) == 0 {
		return commands, pipelineError(commands, err)
	}
	_, err = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, i := range missing {
			commands[i] = pipe.Eval(ctx, script.source, calls[i].keys, calls[i].args...)
		}
		return nil
	})
	return commands, pipelineError(commands, err)
}

func unknownScripts(commands []*redis.Cmd) []int {
	var missing []int
	for i, command := range commands {
		if redis.HasErrorPrefix(command.Err(), "NOSCRIPT") {
			missing = append(missing, i)
		}
	}
	return missing
}

// pipelineError reports a pipeline of which no command was answered; else each command has its own error.
func pipelineError(commands []*redis.Cmd, err error) error {
	if err == nil {
		return nil
	}
	for _, command := range commands {
		if command.Err() == nil {
			return nil
		}
	}
	return fmt.Errorf("pipeline of %d scripts: %w", len(commands), err)
}
