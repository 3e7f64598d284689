package journaltest

import (
	"reflect"
	"time"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// call is one mutating method of the contract with arguments that are right after arrange. do may be repeated: it sends
// the very same arguments again when it is given the same hold.
type call struct {
	arrange func(b *bench) *actor
	do      func(a *actor, h journal.Hold) (any, error)
}

var anyState = execution.States()

// fencedCalls are the methods of a holder. The suite fails when the interfaces have one that is missing here.
func fencedCalls() map[string]call {
	held := func(b *bench) *actor { return b.planned() }
	return map[string]call{
		"Renew": {held, func(a *actor, h journal.Hold) (any, error) { return a.b.Store.Renew(a.b.ctx(), h, ttl) }},
		"Record": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.Record(a.b.ctx(), receiptOf(h))
		}},
		"Commit": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.Commit(a.b.ctx(), journal.Commit{
				Hold: h, Step: 1, Node: "node", Checkpoint: []byte("checkpoint"), Then: goOn(),
				Events:   []execution.Payload{execution.ModelStarted{Turn: 1, InvocationID: "i"}},
				Messages: [][]byte{[]byte("said")},
			})
		}},
		"Spawn": {held, func(a *actor, h journal.Hold) (any, error) {
			answer, err := a.b.Store.Spawn(a.b.ctx(), journal.Spawn{Hold: h, Child: childOf(a.id, theCall)})
			answer.Created = false
			return answer, err
		}},
		"Release": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.Release(a.b.ctx(), journal.Release{
				Hold: h, Retry: &journal.Retry{Node: "node", Code: "rate_limited", After: time.Second},
			})
		}},
		"Transition": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.Transition(a.b.ctx(), h, anyState, execution.Finalizing)
		}},
		"AttachDelegation": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.AttachDelegation(a.b.ctx(), h, journal.Delegation{LeaseRef: theLease, Revision: 1})
		}},
		"Finish": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.Finish(a.b.ctx(), h, anyState, completed())
		}},
		"TransitionWithEvent": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.TransitionWithEvent(a.b.ctx(), h, anyState, completed(), execution.ExecutionCompleted{Answer: "done"})
		}},
		"AppendEvent": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.AppendEvent(a.b.ctx(), h, execution.Warning{Code: "test", Message: "a warning"})
		}},
		"BeginInteraction": {held, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.BeginInteraction(a.b.ctx(), h, question())
		}},
		"CompleteInteraction": {(*bench).answered, func(a *actor, h journal.Hold) (any, error) {
			return a.b.Store.CompleteInteraction(a.b.ctx(), h, theRequest)
		}},
	}
}

func completed() journal.Ending {
	return journal.Ending{State: execution.Completed, Outcome: &execution.Outcome{Answer: "done"}}
}

func receiptOf(h journal.Hold) journal.Record {
	return journal.Record{
		Hold: h, State: journal.Done, Calls: []execution.CallID{theCall}, Receipts: [][]byte{[]byte("receipt")},
		Events: []execution.Payload{execution.ToolCompleted{CallID: theCall, Name: "lookup"}},
	}
}

// commandCalls are the mutating methods of everybody else. The suite fails when the interfaces have one that is missing.
func commandCalls() map[string]call {
	in := func(state execution.State) func(*bench) *actor {
		return func(b *bench) *actor { return b.arrange(state) }
	}
	pushed := func(b *bench) *actor {
		a := b.arrange(execution.Running)
		a.push("one", "config", "submitted")
		return a
	}
	return map[string]call{
		"Reserve": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			n := a.b.submission(func(n *journal.NewExecution) {
				n.ID, n.ConversationID = testID(thePartition, 999), testConversation(thePartition, 999)
				n.IdempotencyKey, n.Fingerprint = "key", "print"
			})
			answer, err := a.b.Store.Reserve(a.b.ctx(), n)
			return struct {
				Row   journal.Execution
				Tasks []execution.Task
			}{answer.Execution, answer.Tasks}, err
		}},
		"Claim": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			return a.b.Store.Claim(a.b.ctx(), journal.ClaimRequest{Execution: a.id, Worker: "w", Nonce: "same", TTL: ttl})
		}},
		"CommitInteractionInput": {in(execution.WaitingForInput), func(a *actor, _ journal.Hold) (any, error) {
			return a.b.Store.CommitInteractionInput(a.b.ctx(), a.id, theInput())
		}},
		"Cancel": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.Cancel(a.b.ctx(), a.id)
			return change.Execution, err
		}},
		"Pause": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.Pause(a.b.ctx(), a.id)
			return change.Execution, err
		}},
		"Resume": {in(execution.Suspended), func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.Resume(a.b.ctx(), a.id, journal.Resumption{})
			return change.Execution, err
		}},
		"TakeBack": {func(b *bench) *actor { return b.planned() }, func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.TakeBack(a.b.ctx(), a.id)
			return struct {
				Row   journal.Execution
				Tasks []execution.Task
			}{change.Execution, change.Tasks}, err
		}},
		"Delete": {in(execution.Completed), func(a *actor, _ journal.Hold) (any, error) {
			return nil, a.b.Store.Delete(a.b.ctx(), a.id)
		}},
		"CompleteDelegationCleanup": {in(execution.Finalizing), func(a *actor, _ journal.Hold) (any, error) {
			return a.b.Store.CompleteDelegationCleanup(a.b.ctx(), a.id, theLease)
		}},
		"PutPushConfig": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			return nil, a.b.Store.PutPushConfig(a.b.ctx(), a.id, "one", []byte("config"), "")
		}},
		"DeletePushConfig": {pushed, func(a *actor, _ journal.Hold) (any, error) {
			return nil, a.b.Store.DeletePushConfig(a.b.ctx(), a.id, "one")
		}},
		"MarkPushed": {pushed, func(a *actor, _ journal.Hold) (any, error) {
			return nil, a.b.Store.MarkPushed(a.b.ctx(), a.id, "one", "working")
		}},
		"DropPushes": {pushed, func(a *actor, _ journal.Hold) (any, error) {
			return a.b.Store.DropPushes(a.b.ctx(), a.id, "submitted")
		}},
		"Delegate": {func(b *bench) *actor { return b.intended() }, func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.Delegate(a.b.ctx(), a.id, theDelegation())
			return struct {
				Row   journal.Execution
				Tasks []execution.Task
			}{change.Execution, change.Tasks}, err
		}},
		"RefuseDelegation": {func(b *bench) *actor { return b.intended() }, func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.RefuseDelegation(a.b.ctx(), a.id, theRefusal())
			return change.Execution, err
		}},
		"CompleteCleanup": {func(b *bench) *actor { return b.unclean(execution.Finalizing) }, func(a *actor, _ journal.Hold) (any, error) {
			change, err := a.b.Store.CompleteCleanup(a.b.ctx(), a.id, theCleanup())
			return change.Execution, err
		}},
		"PutDefinition": {in(execution.Running), func(a *actor, _ journal.Hold) (any, error) {
			return nil, a.b.Store.PutDefinition(a.b.ctx(), "hash", []byte("definition"))
		}},
	}
}

// recoveryCalls are the mutating methods of the reaper: they take the entry as a sweep saw it.
func recoveryCalls() map[string]func(b *bench, d journal.Due) (journal.Requeued, error) {
	return map[string]func(b *bench, d journal.Due) (journal.Requeued, error){
		"Requeue": func(b *bench, d journal.Due) (journal.Requeued, error) { return b.Store.Requeue(b.ctx(), d) },
		"Expire":  func(b *bench, d journal.Due) (journal.Requeued, error) { return b.Store.Expire(b.ctx(), d) },
		"Postpone": func(b *bench, d journal.Due) (journal.Requeued, error) {
			return journal.Requeued{}, b.Store.Postpone(b.ctx(), d, time.Minute)
		},
		"Purge": func(b *bench, d journal.Due) (journal.Requeued, error) {
			return journal.Requeued{}, b.Store.Purge(b.ctx(), d)
		},
		"PostponeCleanup": func(b *bench, d journal.Due) (journal.Requeued, error) {
			seen := journal.Cleanup{Execution: journal.Execution{ID: execution.ID(d.Member)}, AtMs: d.AtMs}
			moved, err := b.Store.PostponeCleanup(b.ctx(), seen, time.Minute)
			return journal.Requeued{Moved: moved}, err
		},
	}
}

// readingMethods write nothing that lasts.
func readingMethods() map[string]bool {
	return map[string]bool{
		"Get": true, "Events": true, "EventPage": true, "Checkpoints": true, "Messages": true, "Ledger": true,
		"Children": true, "Cleanups": true, "CountOutside": true,
		"Blob": true, "List": true, "Inspect": true, "Count": true,
		"Definition": true, "Requests": true, "Recoverable": true, "Sweep": true, "OpenExecutions": true,
		"Follow": true, "FollowAll": true, "PublishFrame": true, "FollowRequests": true, "LastSequences": true,
		// These two move entries of an index that somebody looks at anyway.
		"PushConfigs": true, "TakePushes": true, "KeepPushes": true,
	}
}

// methods lists the names of an interface's methods.
func methods[I any]() []string {
	var names []string
	for m := range reflect.TypeFor[I]().Methods() {
		names = append(names, m.Name)
	}
	return names
}

// holderMethods lists the methods of an interface that take a Hold, or a struct that embeds one.
func holderMethods[I any]() []string {
	var names []string
	hold := reflect.TypeFor[journal.Hold]()
	for m := range reflect.TypeFor[I]().Methods() {
		for in := range m.Type.Ins() {
			embeds := false
			if in.Kind() == reflect.Struct {
				field, ok := in.FieldByName("Hold")
				embeds = ok && field.Anonymous && field.Type == hold
			}
			if in == hold || embeds {
				names = append(names, m.Name)
			}
		}
	}
	return names
}
