package backend

import "strings"

// TerminationKind says why a run stopped.
type TerminationKind string

// The reasons for which a run stops.
const (
	NaturalEnd        TerminationKind = "natural_end"        // the model had nothing more to do
	BehaviorRequested TerminationKind = "behavior_requested" // a behavior of the agent asked for it
	Stopped           TerminationKind = "stopped"            // a stop condition; Detail is its code
	TermCanceled      TerminationKind = wordCanceled
	Blocked           TerminationKind = "blocked"     // Detail says by what
	TermSuspended     TerminationKind = wordSuspended // it waits and is not over
	TermError         TerminationKind = wordError     // Detail is the message
)

// TerminationReason is why a run stopped. Detail is the code of a stop condition, what blocked the run, or the message of
// an error; empty for the other kinds. Note is a person's words about a stop condition.
type TerminationReason struct {
	Kind   TerminationKind `json:"type"`
	Detail string          `json:"detail,omitempty"`
	Note   string          `json:"note,omitempty"`
}

// DurableStatus is where a run stands in the store of the reference's words: created, running, waiting, done. Done is
// final.
type DurableStatus string

// The durable statuses.
const (
	DurableCreated DurableStatus = "created"
	DurableRunning DurableStatus = "running"
	DurableWaiting DurableStatus = "waiting"
	DurableDone    DurableStatus = "done"
)

// Durable is the durable status of a run that stopped for this reason, and the reason's word; a run that is suspended
// waits and has no word.
func (t TerminationReason) Durable() (DurableStatus, string) {
	switch t.Kind {
	case TermSuspended:
		return DurableWaiting, ""
	case NaturalEnd:
		return DurableDone, wordNatural
	case Stopped:
		return DurableDone, stoppedPrefix + t.Detail
	case Blocked:
		return DurableDone, blockedPrefix + t.Detail
	case BehaviorRequested, TermCanceled, TermError:
		return DurableDone, string(t.Kind)
	default:
		return DurableDone, string(TermError)
	}
}

// TerminationFromDone is the reason whose word Durable gave. A word nobody gave is an error with that message.
func TerminationFromDone(word string) TerminationReason {
	switch word {
	case wordNatural:
		return TerminationReason{Kind: NaturalEnd}
	case string(BehaviorRequested), string(TermCanceled):
		return TerminationReason{Kind: TerminationKind(word)}
	}
	if code, ok := strings.CutPrefix(word, stoppedPrefix); ok {
		return TerminationReason{Kind: Stopped, Detail: code}
	}
	if reason, ok := strings.CutPrefix(word, blockedPrefix); ok {
		return TerminationReason{Kind: Blocked, Detail: reason}
	}
	return TerminationReason{Kind: TermError, Detail: word}
}
