package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindsAreToldByTheirKeys(t *testing.T) {
	t.Parallel()
	c := newClasses("pawl")
	for key, kind := range map[string]string{
		"pawl:{p07}:x:exec_07A": "row", "pawl:{p07}:x:exec_07A:events": "events", "pawl:{p63}:conv:a%3ab": "conversation",
		"pawl:{p12}:conv:a%3ab/acme%3aeu": "conversation", "pawl:{p12}:named": "listing",
		"pawl:{p63}:conv:a%3ab:messages": "messages", "pawl:{p00}:due": "index", "pawl:{p00}:push": "index", "pawl:{p00}:outside": "index", "pawl:{p07}:x:exec_07A:push": "push configs", "pawl:{p00}:tenant::de:fault": "listing",
		"pawl:{p00}:caller:failed:1:a:b:c": "listing", "pawl:{p00}:idem:0f": "idempotency key", "pawl:def:00": "definition",
		"pawl:worker:A": "worker", "pawl:worker:A:holding": "worker", "pawl:workers": "worker", "pawl:{wake}:bell:x": "wake-up",
		"pawl:{p07}:x:exec_07A:children": "children", "pawl:{p07}:x:exec_07A:open": "children",
		"pawl:keys": "API keys", "asynq:{default}:t:exec.1.1": "task", "asynq:{default}:processed:2026-11-29": "queue",
		"asynq:servers:{host:1:x}": "queue server", "asynq:queues": "queue server", "pawl:streamtoken:ab": "stream token",
		"pawl:sessions:ab": "session", "pawl:streamtokens:ab": "stream token", "pawl:logins": "begun logins",
		"pawl:{p07}:x:exec_07A:nobody": Unknown, "pawl:{p7}:due": Unknown, "pawl:other": Unknown, "asynq:other": Unknown,
	} {
		require.Equal(t, kind, c.of(key), key)
	}
	listed := map[string]bool{}
	for _, kind := range Kinds() {
		require.False(t, listed[kind.Name], kind.Name)
		listed[kind.Name] = true
	}
	for _, s := range append(shapes(), asynqShapes()...) {
		require.True(t, listed[s.kind], s.kind)
	}
}
