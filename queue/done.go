package queue

import (
	"context"
	_ "embed"
	"slices"
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

// board turns commands into those that are to be sent in their place, in one pipeline. arrived is to be called when each of
// these has its reply or error: then each of the commands gets its own, as if it had been sent by itself. It returns at once;
// done is called at its end, or later if Redis has to be sent the script first.
func (j *doneJoin) board(rdb redis.UniversalClient, cmds []redis.Cmder, done func()) (send []redis.Cmder, arrived func()) {
	joined, send := j.sort(cmds)
	for _, t := range joined {
		t.cmd = redis.NewCmd(context.Background(), evalShaArgs(j.script.Hash(), t.keys, t.args)...)
		send = append(send, t.cmd)
	}
	return send, func() {
		unknown := func(t *doneTogether) bool { return redis.HasErrorPrefix(t.cmd.Err(), "NOSCRIPT") }
		if slices.ContainsFunc(joined, unknown) {
			go j.again(rdb, joined, done)
			return
		}
		answer(joined, done)
	}
}

// again sends the source to a Redis that does not know the script.
func (j *doneJoin) again(rdb redis.UniversalClient, joined []*doneTogether, done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	for _, t := range joined {
		if redis.HasErrorPrefix(t.cmd.Err(), "NOSCRIPT") {
			t.cmd = j.script.Eval(ctx, rdb, t.keys, t.args...)
		}
	}
	answer(joined, done)
}

func answer(joined []*doneTogether, done func()) {
	for _, t := range joined {
		t.answer()
	}
	done()
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
