package inventory

import (
	"regexp"
	"strings"
)

// Kind is a kind of key.
type Kind struct {
	Name   string `json:"name"`
	Keys   string `json:"keys"`   // what they look like
	Leaves string `json:"leaves"` // when they go, and by whom
}

// Unknown is the kind of a key that this release does not know.
const Unknown = "unknown"

// Kinds lists the kinds, those of the journal first.
func Kinds() []Kind {
	const purged, worker = "with its execution, by the reaper", "by Asynq, with the end of the task"
	return []Kind{
		{"row", "{pNN}:x:<id>", "when its retention has passed, by the reaper"},
		{"events", "{pNN}:x:<id>:events", purged},
		{"checkpoints", "{pNN}:x:<id>:checkpoints", purged},
		{"tools", "{pNN}:x:<id>:tools", purged},
		{"inbox", "{pNN}:x:<id>:inbox", purged},
		{"receipts", "{pNN}:x:<id>:receipts", purged},
		{"results", "{pNN}:x:<id>:results", purged + ", or with the last fork that has them"},
		{"children", "{pNN}:x:<id>:children, :open", purged},
		{"blobs", "{pNN}:x:<id>:blobs", purged + "; of an earlier release"},
		{"push configs", "{pNN}:x:<id>:push", purged},
		{"lease", "{pNN}:lease:<id>", "when the delegation is revoked; 90 days after the last renewal"},
		{"conversation", "{pNN}:conv:<id>", "with its last execution and the last fork of that, by the reaper"},
		{"messages", "{pNN}:conv:<id>:messages", "with its conversation"},
		{"waiting", "{pNN}:conv:<id>:waiting", "with the last execution that waits"},
		{"conversation listing", "{pNN}:conv:<id>:executions", "with its conversation"},
		{"index", "{pNN}:due, :handoff, :purge, :cleanup, :outside, :push", "with their last entry"},
		{"listing", "{pNN}:tenant:…, :caller:…, :named", "with their last entry"},
		{"idempotency key", "{pNN}:idem:<hash>", purged},
		{"sweep lock", "{pNN}:sweep", "after a moment"},
		{"definition", "def:<sha256>", "never: one for each definition that was ever submitted to"},
		{"worker", "worker:<id>, …:holding, workers", "15 s after the worker; the list names it for an hour"},
		{"wake-up", "{wake}:<queue>", "after 4 s"},
		{"API keys", "keys", "never: a revoked key is remembered"},
		{"session", "session:<hash>, sessions:<hash>", "when it runs out; the list of a key's with the last one"},
		{"stream token", "streamtoken:<hash>, streamtokens:<hash>", "after ten minutes"},
		{"begun logins", "logins", "ten minutes after the last one was begun"},
		{"task", "asynq:{queue}:t:<id>", worker},
		{"queue", "asynq:{queue}:pending, …", "with their last task; counts of a day after 90 days"},
		{"queue server", "asynq:servers…, :workers…, :queues", "a moment after the worker; the names of queues never"},
		{Unknown, "", ""},
	}
}

// shape tells kinds by what follows the prefix.
type shape struct {
	kind    string
	pattern *regexp.Regexp
}

func shapes() []shape {
	of := func(kind, pattern string) shape { return shape{kind, regexp.MustCompile("^" + pattern + "$")} }
	const part, id = `\{p\d\d\}:`, `[^:]+`
	all := make([]shape, 0, 32)
	for _, tail := range []string{"events", "checkpoints", "tools", "inbox", "receipts", "results", "blobs"} {
		all = append(all, of(tail, part+"x:"+id+":"+tail))
	}
	return append(all,
		of("row", part+"x:"+id), of("push configs", part+"x:"+id+":push"), of("children", part+"x:"+id+":(children|open)"),
		of("conversation", part+"conv:"+id), of("messages", part+"conv:"+id+":messages"),
		of("waiting", part+"conv:"+id+":waiting"), of("conversation listing", part+"conv:"+id+":executions"),
		of("index", part+"(due|handoff|purge|cleanup|outside|push)"), of("listing", part+"((tenant|caller):.*|named)"),
		of("idempotency key", part+"idem:"+id), of("sweep lock", part+"sweep"),
		of("definition", "def:"+id), of("worker", "workers|worker:"+id+"(:holding)?"), of("wake-up", `\{wake\}:.+`),
		of("API keys", "keys"), of("session", "sessions?:"+id), of("stream token", "streamtokens?:"+id),
		of("begun logins", "logins"), of("lease", part+"lease:"+id+"(:lock)?"),
	)
}

func asynqShapes() []shape {
	of := func(kind, pattern string) shape { return shape{kind, regexp.MustCompile("^" + pattern + "$")} }
	return []shape{
		of("task", `\{[^}]+\}:t:.+`),
		of("queue", `\{[^}]+\}:(pending|active|lease|scheduled|retry|archived|completed|paused|processed|failed)(:.*)?`),
		of("queue server", `(servers|workers|schedulers)(:.*)?|queues`),
	}
}

// classes tells the kind of a key.
type classes struct {
	prefix      string
	ours, asynq []shape
}

func newClasses(prefix string) *classes {
	return &classes{prefix: prefix + ":", ours: shapes(), asynq: asynqShapes()}
}

func (c *classes) of(key string) string {
	rest, ours := strings.CutPrefix(key, c.prefix)
	all := c.ours
	if !ours {
		rest, all = strings.TrimPrefix(key, asynqPrefix), c.asynq
	}
	for _, s := range all {
		if s.pattern.MatchString(rest) {
			return s.kind
		}
	}
	return Unknown
}
