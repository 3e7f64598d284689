package backend

import (
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// Cancellation says how a run can be interrupted after it has started.
type Cancellation string

// The ways to interrupt a run.
const (
	CancelNone                Cancellation = wordNone
	CancelCooperative         Cancellation = "cooperative_token"                  // its context ends
	CancelRemoteAbort         Cancellation = "remote_abort"                       // the remote is told
	CancelCooperativeAndAbort Cancellation = "cooperative_token_and_remote_abort" // both
)

// SupportsCooperativeToken reports whether a run ends when its context ends.
func (c Cancellation) SupportsCooperativeToken() bool {
	return c == CancelCooperative || c == CancelCooperativeAndAbort
}

// SupportsRemoteAbort reports whether a run can be ended by telling the remote.
func (c Cancellation) SupportsRemoteAbort() bool {
	return c == CancelRemoteAbort || c == CancelCooperativeAndAbort
}

// Continuation says how a backend keeps state from one turn of a conversation to the next.
type Continuation string

// The ways to keep state across turns.
const (
	ContinuationNone      Continuation = wordNone
	ContinuationInProcess Continuation = "in_process_state"
	ContinuationRemote    Continuation = "remote_state"
)

// Waits says which interruptions a backend can represent without turning them into errors.
type Waits string

// The interruptions a backend may represent.
const (
	WaitsNone         Waits = wordNone
	WaitsInput        Waits = "input"
	WaitsAuth         Waits = "auth"
	WaitsInputAndAuth Waits = "input_and_auth"
)

// Transcript says what a backend is given of the conversation.
type Transcript string

// The transcripts a backend may take.
const (
	TranscriptFull        Transcript = "full_transcript"
	TranscriptIncremental Transcript = "incremental_user_messages_with_remote_state"
	TranscriptPrompt      Transcript = "single_prompt"
)

// Output says what a backend keeps of an answer.
type Output string

// The outputs a backend may keep.
const (
	OutputText             Output = "text"
	OutputTextAndArtifacts Output = "text_and_artifacts"
)

// Capabilities is what a backend declares that it can do. The zero value is not a declaration: Validate refuses it.
type Capabilities struct {
	Cancellation  Cancellation
	Decisions     bool // takes decisions about suspended calls while it runs
	Overrides     bool // takes a submission's own model settings
	FrontendTools bool // takes tools that the client carries out
	Continuation  Continuation
	Waits         Waits
	Transcript    Transcript
	Output        Output
}

// Full is what our own loop can do.
func Full() Capabilities {
	return Capabilities{
		Cancellation:  CancelCooperative,
		Decisions:     true,
		Overrides:     true,
		FrontendTools: true,
		Continuation:  ContinuationInProcess,
		Waits:         WaitsInputAndAuth,
		Transcript:    TranscriptFull,
		Output:        OutputTextAndArtifacts,
	}
}

// RemoteStatelessText is the least a backend can do, and what one that declares nothing is taken to do.
func RemoteStatelessText() Capabilities {
	return Capabilities{
		Cancellation: CancelNone,
		Continuation: ContinuationNone,
		Waits:        WaitsNone,
		Transcript:   TranscriptPrompt,
		Output:       OutputText,
	}
}

// Validate refuses words that are not of this package, the zero value's empty ones included.
func (c Capabilities) Validate() error {
	if err := oneOf("cancellation", c.Cancellation, CancelNone, CancelCooperative, CancelRemoteAbort, CancelCooperativeAndAbort); err != nil {
		return err
	}
	if err := oneOf(wordContinuation, c.Continuation, ContinuationNone, ContinuationInProcess, ContinuationRemote); err != nil {
		return err
	}
	if err := oneOf("waits", c.Waits, WaitsNone, WaitsInput, WaitsAuth, WaitsInputAndAuth); err != nil {
		return err
	}
	if err := oneOf("transcript", c.Transcript, TranscriptFull, TranscriptIncremental, TranscriptPrompt); err != nil {
		return err
	}
	return oneOf("output", c.Output, OutputText, OutputTextAndArtifacts)
}

func oneOf[T ~string](field string, value T, known ...T) error {
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return fmt.Errorf("backend capabilities: %s: unknown word %q", field, string(value))
}

// View is the declaration in the words of the list of agents.
func (c Capabilities) View() execution.Capabilities {
	return execution.Capabilities{
		Cancellation:  string(c.Cancellation),
		Decisions:     c.Decisions,
		Overrides:     c.Overrides,
		FrontendTools: c.FrontendTools,
		Continuation:  string(c.Continuation),
		Waits:         string(c.Waits),
		Transcript:    string(c.Transcript),
		Output:        string(c.Output),
	}
}
