package redisjournal

import (
	"context"
	"embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one operation: what all scripts share, and its own file. Run sends its digest and falls back to the source.
type script struct {
	name string
	*redis.Script
	source string
	keys   int // so many of an execution's keys
}

// keysOf is how many of an execution's keys a script over one is sent.
func keysOf(name string) int {
	switch name {
	case "claim":
		return keyInbox + 1
	case "commit", "record":
		return keyTools + 1
	default:
		return executionKeys
	}
}

// command is the script's call by its digest.
func (s *script) command(ctx context.Context, keys []string, args []any) *redis.Cmd {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, "evalsha", s.Hash(), len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	return redis.NewCmd(ctx, append(all, args...)...)
}

// load makes a script of its text: see texts. Constants are Lua locals by name; those that the text mentions precede it.
func load(constants []constant, name string) *script {
	text := texts()[name]
	var source strings.Builder
	for _, c := range constants {
		if text.words[c.name] {
			fmt.Fprintf(&source, "local %s = %s\n", c.name, c.literal)
		}
	}
	source.WriteString(text.source)
	return &script{name: name, Script: redis.NewScript(source.String()), source: source.String(), keys: keysOf(name)}
}

// usual ends the name of what stands in front of a script: see texts.
const usual = "_usual"

// text is a piece of Lua and the words of its code.
type text struct {
	name, source string
	words        map[string]bool
}

// texts are the scripts by name: the own file of each behind those functions of lib.lua that it needs, and behind moves.lua
// as the body of a function when it calls that. A closure that a script does not call would be built for nothing with
// every call. In front of a script may stand its usual way, <name>_usual.lua: it answers most calls and builds nothing.
var texts = sync.OnceValue(func() map[string]text {
	lib, all := locals(file("lib")), make(map[string]text)
	moves := newText("moves", "local function moves()\n"+file("moves")+"end\n")
	entries, err := sources.ReadDir("lua")
	if err != nil {
		panic(err) // embedded at build time
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".lua")
		if strings.HasSuffix(name, usual) {
			continue
		}
		made := newText(name, file(name))
		if made.words["moves"] {
			made = moves.before(made)
		}
		for _, local := range slices.Backward(lib) {
			if made.words[local.name] {
				made = local.before(made)
			}
		}
		if body, err := sources.ReadFile("lua/" + name + usual + ".lua"); err == nil {
			made = newText(name, "do\n"+string(body)+"end\n").before(made)
		}
		all[name] = made
	}
	return all
})

var luaWord = regexp.MustCompile(`[A-Za-z_]+`)

func newText(name, source string) text {
	words := make(map[string]bool)
	for line := range strings.SplitSeq(source, "\n") {
		code, _, _ := strings.Cut(line, "--")
		for _, word := range luaWord.FindAllString(code, -1) {
			words[word] = true
		}
	}
	return text{name: name, source: source, words: words}
}

// before is both texts as one of the second's name.
func (t text) before(other text) text {
	words := maps.Clone(t.words)
	maps.Copy(words, other.words)
	return text{name: other.name, source: t.source + other.source, words: words}
}

// atMargin is where a local of the library begins, at the margin.
var atMargin = regexp.MustCompile(`(?m)^local (?:function )?([A-Za-z_]+)`)

// locals cuts the library into its locals.
func locals(lib string) []text {
	var cut []text
	begins := atMargin.FindAllStringSubmatchIndex(lib, -1)
	for i, begin := range begins {
		end := len(lib)
		if i+1 < len(begins) {
			end = begins[i+1][0]
		}
		cut = append(cut, newText(lib[begin[2]:begin[3]], lib[begin[0]:end]))
	}
	return cut
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

// pipelineError reports a pipeline of which no command was answered; else each command has its own error. A refusal of the
// contract is an answer, also when all rows of a pipeline are gone; so is a record that cannot be read.
func pipelineError(commands []*redis.Cmd, err error) error {
	if err == nil {
		return nil
	}
	for _, command := range commands {
		if command.Err() == nil || unreadable(command.Err()) || refused(command.Err()) {
			return nil
		}
	}
	return fmt.Errorf("pipeline of %d scripts: %w", len(commands), err)
}
