package queue

import (
	"context"
	_ "embed"
	"strings"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/done.lua
var doneSource string

// doneJoin puts the ends of tasks that are done and that travel together into one script for each queue: see done.lua.
type doneJoin struct{ script *redis.Script }

func newDoneJoin() *doneJoin { return &doneJoin{redis.NewScript(doneSource)} }

// doneTogether are ends of one queue and one day.
type doneTogether struct {
	ends []*redis.Cmd
	keys []string
	args []any
	cmd  *redis.Cmd
}

// The arguments of Asynq's script for a task that is done: EVALSHA, digest, 5, its keys, task id, expiry, highest count.
const (
	doneActive = iota + 3
	doneLease
	doneTask
	doneToday
	doneTotal
	doneID
	doneExpires
	doneMost
	doneArgs
)

// exec sends the commands in one pipeline. Each has its reply or error then, as if it had been sent by itself.
func (j *doneJoin) exec(ctx context.Context, rdb redis.UniversalClient, cmds []redis.Cmder) {
	joined, others := j.sort(cmds)
	pipe := rdb.Pipeline()
	for _, cmd := range others {
		_ = pipe.Process(ctx, cmd)
	}
	for _, t := range joined {
		t.cmd = pipe.EvalSha(ctx, j.script.Hash(), t.keys, t.args...)
	}
	_, _ = pipe.Exec(ctx) // each has its own reply
	for _, t := range joined {
		if redis.HasErrorPrefix(t.cmd.Err(), "NOSCRIPT") {
			t.cmd = j.script.Eval(ctx, rdb, t.keys, t.args...)
		}
		t.answer()
	}
}

// sort parts the ends that have company of their own queue from the other commands.
func (j *doneJoin) sort(cmds []redis.Cmder) (joined []*doneTogether, others []redis.Cmder) {
	at := make(map[string]*doneTogether, 1)
	var all []*doneTogether
	for _, cmd := range cmds {
		end, ok := cmd.(*redis.Cmd)
		if !ok || !isDone(end) {
			others = append(others, cmd)
			continue
		}
		args := end.Args()
		today := textOf(args[doneToday])
		t := at[today]
		if t == nil {
			prefix, _, _ := strings.Cut(textOf(args[doneTask]), "}:t:")
			t = &doneTogether{
				keys: []string{textOf(args[doneActive]), textOf(args[doneLease]), today, textOf(args[doneTotal])},
				args: []any{args[doneExpires], args[doneMost], prefix + "}:t:"},
			}
			at[today], all = t, append(all, t)
		}
		t.ends, t.args = append(t.ends, end), append(t.args, args[doneID])
	}
	for _, t := range all {
		if len(t.ends) == 1 {
			others = append(others, t.ends[0])
			continue
		}
		joined = append(joined, t)
	}
	return joined, others
}

// isDone is whether the command is Asynq's script for a task that is done, by its digest.
func isDone(cmd *redis.Cmd) bool {
	args := cmd.Args()
	if len(args) != doneArgs || args[2] != 5 {
		return false
	}
	return strings.HasSuffix(textOf(args[doneActive]), "}:active") && strings.HasSuffix(textOf(args[doneLease]), "}:lease") &&
		strings.Contains(textOf(args[doneTask]), "}:t:") && strings.Contains(textOf(args[doneToday]), "}:processed:") &&
		strings.HasSuffix(textOf(args[doneTotal]), "}:processed") && strings.HasSuffix(textOf(args[doneTask]), "}:t:"+textOf(args[doneID]))
}

func textOf(arg any) string {
	text, _ := arg.(string)
	return text
}

// answer gives each end what Asynq's script would have answered.
func (t *doneTogether) answer() {
	answers, err := t.cmd.Int64Slice()
	for i, end := range t.ends {
		switch {
		case err != nil:
			end.SetErr(err)
		case i < len(answers) && answers[i] == 1:
			end.SetVal("OK")
		default:
			end.SetErr(notFound{})
		}
	}
}

// notFound is the refusal of Asynq's script for a task that was ended elsewhere, given by us.
type notFound struct{}

func (notFound) Error() string { return "NOT FOUND" }

// RedisError marks a reply of Redis.
func (notFound) RedisError() {}
