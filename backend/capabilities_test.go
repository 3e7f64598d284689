package backend_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func TestContractB_CancellationCapability(t *testing.T) {
	t.Parallel()
	t.Run("BackendCancellationCapability", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			capability   backend.Cancellation
			token, abort bool
		}{
			{backend.CancelNone, false, false},
			{backend.CancelCooperative, true, false},
			{backend.CancelRemoteAbort, false, true},
			{backend.CancelCooperativeAndAbort, true, true},
			{"", false, false},
		} {
			require.Equal(t, c.token, c.capability.SupportsCooperativeToken(), c.capability)
			require.Equal(t, c.abort, c.capability.SupportsRemoteAbort(), c.capability)
		}
	})
}

func TestContractB_CapabilitiesFull(t *testing.T) {
	t.Parallel()
	t.Run("BackendCapabilities.full", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, backend.Full().Validate())
		require.Equal(t, execution.Capabilities{
			Cancellation: "cooperative_token", Decisions: true, Overrides: true, FrontendTools: true,
			Continuation: "in_process_state", Waits: "input_and_auth", Transcript: "full_transcript", Output: "text_and_artifacts",
		}, backend.Full().View())
	})
}

func TestContractB_CapabilitiesRemoteStatelessText(t *testing.T) {
	t.Parallel()
	t.Run(".remote_stateless_text", func(t *testing.T) {
		t.Parallel()
		require.NoError(t, backend.RemoteStatelessText().Validate())
		require.Equal(t, execution.Capabilities{
			Cancellation: "none", Continuation: "none", Waits: "none", Transcript: "single_prompt", Output: "text",
		}, backend.RemoteStatelessText().View())
	})
}

func TestContractB_ZeroValueIsNeitherDefault(t *testing.T) {
	t.Parallel()
	t.Run("TRAP: two defaults", func(t *testing.T) {
		t.Parallel()
		var zero backend.Capabilities
		require.NotEqual(t, backend.Full(), zero)
		require.NotEqual(t, backend.RemoteStatelessText(), zero)
		require.Equal(t, backend.RemoteStatelessText(), backend.Base{}.Capabilities(), "the interface's default")
		require.Equal(t, backend.Full(), backend.Local{}.Capabilities(), "the capabilities' default")
		require.ErrorContains(t, zero.Validate(), "cancellation")
		for field, spoil := range map[string]func(*backend.Capabilities){
			"cancellation": func(c *backend.Capabilities) { c.Cancellation = "x" },
			"continuation": func(c *backend.Capabilities) { c.Continuation = "x" },
			"waits":        func(c *backend.Capabilities) { c.Waits = "x" },
			"transcript":   func(c *backend.Capabilities) { c.Transcript = "x" },
			"output":       func(c *backend.Capabilities) { c.Output = "" },
		} {
			c := backend.Full()
			spoil(&c)
			require.ErrorContains(t, c.Validate(), field)
		}
	})
}

func TestContractB_CapabilityWords(t *testing.T) {
	t.Parallel()
	t.Run("Continuation {None, InProcessState, RemoteState}, Wait {None, Input, Auth, InputAndAuth}, Transcript {FullTranscript, IncrementalUserMessagesWithRemoteState, SinglePrompt}, Output {Text, TextAndArtifacts}", func(t *testing.T) {
		t.Parallel()
		for want, word := range map[string]any{
			`["none","cooperative_token","remote_abort","cooperative_token_and_remote_abort"]`: []backend.Cancellation{
				backend.CancelNone, backend.CancelCooperative, backend.CancelRemoteAbort, backend.CancelCooperativeAndAbort,
			},
			`["none","in_process_state","remote_state"]`: []backend.Continuation{
				backend.ContinuationNone, backend.ContinuationInProcess, backend.ContinuationRemote,
			},
			`["none","input","auth","input_and_auth"]`: []backend.Waits{
				backend.WaitsNone, backend.WaitsInput, backend.WaitsAuth, backend.WaitsInputAndAuth,
			},
			`["full_transcript","incremental_user_messages_with_remote_state","single_prompt"]`: []backend.Transcript{
				backend.TranscriptFull, backend.TranscriptIncremental, backend.TranscriptPrompt,
			},
			`["text","text_and_artifacts"]`: []backend.Output{backend.OutputText, backend.OutputTextAndArtifacts},
		} {
			encoded, err := json.Marshal(word)
			require.NoError(t, err)
			require.Equal(t, want, string(encoded))
		}
		request := backend.RootRunRequest{AgentID: "a", IsContinuation: true}
		only := backend.Full()
		only.Continuation, only.Waits = backend.ContinuationNone, backend.WaitsNone
		require.Equal(t, []string{"continuation"}, only.UnsupportedRootFeatures(request), "nothing else is enforced")
	})
}
