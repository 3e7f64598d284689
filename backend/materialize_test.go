package backend_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

func message(role execution.Role, id string) backend.Message {
	return backend.Message{Message: execution.Message{Role: role}, ID: id}
}

func TestContractB_Materialize(t *testing.T) {
	t.Parallel()
	t.Run("materialize message log", func(t *testing.T) {
		t.Parallel()
		identity := backend.RunIdentity{ConversationID: "conv", RunID: "run"}
		theirs := message(execution.RoleAssistant, "m4")
		theirs.RunID, theirs.StepIndex = "other", ptr(7)
		messages := []backend.Message{
			message(execution.RoleUser, "m1"), message(execution.RoleAssistant, "m2"),
			message(execution.RoleAssistant, ""), theirs, message(execution.RoleUser, "m5"), message(execution.RoleTool, "m6"),
		}
		log := backend.MaterializeMessages(messages, nil, identity, 3, 2)
		require.Equal(t, &backend.RunInput{ConversationID: "conv", Range: &backend.MessageRange{From: 1, To: 2}}, log.Input)
		require.Equal(t, &backend.RunProduct{
			ConversationID: "conv", Range: &backend.MessageRange{From: 3, To: 6}, MessageIDs: []string{"m4", "m6"},
		}, log.Output, "in order; a message without id is in the range alone")
		require.Empty(t, log.Messages[1].RunID, "it was there before")
		require.Equal(t, execution.ID("run"), log.Messages[2].RunID)
		require.Equal(t, 2, *log.Messages[2].StepIndex)
		require.Equal(t, theirs, log.Messages[3], "never written over")
		require.Empty(t, log.Messages[4].RunID, "no answer")
		require.Empty(t, messages[2].RunID, "what was handed in stays")

		previous := &backend.RunRecord{
			Input:  &backend.RunInput{Range: &backend.MessageRange{From: 1, To: 5}},
			Output: &backend.RunProduct{MessageIDs: []string{"before"}},
		}
		log = backend.MaterializeMessages(messages, previous, identity, 0, 2)
		require.Same(t, previous.Input, log.Input)
		require.Equal(t, []string{"m6"}, log.Output.MessageIDs)
		require.Nil(t, log.Messages[5].StepIndex, "no steps, no step")
		log = backend.MaterializeMessages(messages[:5], previous, identity, 0, 2)
		require.Same(t, previous.Output, log.Output, "nothing new")

		previous.Input.Range = nil
		log = backend.MaterializeMessages(messages, previous, identity, 0, 5)
		require.Equal(t, &backend.MessageRange{From: 6, To: 6}, log.Output.Range, "an input without a range: the count")
		log = backend.MaterializeMessages(messages[:1], nil, identity, 0, 0)
		require.Nil(t, log.Input)
		require.Nil(t, log.Output)
	})
}

func TestMaterializedLogsHoldTheirRules(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.SliceOfN(rapid.Custom(drawMessage), 0, 12).Draw(t, "messages")
		before := fmt.Sprintf("%+v", plain(messages))
		count, steps := rapid.IntRange(0, 14).Draw(t, "count"), rapid.IntRange(0, 4).Draw(t, "steps")
		var previous *backend.RunRecord
		if rapid.Bool().Draw(t, "again") {
			previous = &backend.RunRecord{Output: &backend.RunProduct{MessageIDs: []string{"before"}}}
			if to := rapid.Uint64Range(0, 14).Draw(t, "to"); to > 0 {
				previous.Input = &backend.RunInput{Range: backend.NewMessageRange(1, to)}
			}
		}
		identity := backend.RunIdentity{ConversationID: "conv", RunID: "run"}
		log := backend.MaterializeMessages(messages, previous, identity, steps, count)
		require.Equal(t, before, fmt.Sprintf("%+v", plain(messages)), "the input is not written to")
		require.Len(t, log.Messages, len(messages))
		first := uint64(count) + 1
		if previous != nil && previous.Input != nil {
			first = previous.Input.Range.To + 1
		}
		checkLog(t, messages, log, previous, first)
		again := backend.MaterializeMessages(log.Messages, &backend.RunRecord{Input: log.Input, Output: log.Output}, identity, steps, count)
		require.Equal(t, plain(log.Messages), plain(again.Messages), "the same again changes nothing")
		require.Equal(t, log.Output, again.Output)
	})
}

// checkLog compares a log with what each message's place, role and earlier marks say.
func checkLog(t *rapid.T, messages []backend.Message, log backend.MessageLog, previous *backend.RunRecord, first uint64) {
	var ids []string
	var places []uint64
	for i, was := range messages {
		is, place := log.Messages[i], uint64(i)+1
		if place < first || was.Role == execution.RoleUser {
			require.Equal(t, was, is)
			continue
		}
		places = append(places, place)
		if was.ID != "" {
			ids = append(ids, was.ID)
		}
		if was.RunID != "" {
			require.Equal(t, was.RunID, is.RunID)
		} else {
			require.Equal(t, execution.ID("run"), is.RunID)
		}
		if was.StepIndex != nil {
			require.Equal(t, *was.StepIndex, *is.StepIndex)
		}
	}
	switch {
	case len(places) > 0:
		require.Equal(t, backend.NewMessageRange(places[0], places[len(places)-1]), log.Output.Range)
		require.True(t, slices.Equal(ids, log.Output.MessageIDs))
	case previous != nil:
		require.Equal(t, previous.Output, log.Output)
	default:
		require.Nil(t, log.Output)
	}
}

func drawMessage(t *rapid.T) backend.Message {
	m := message(
		rapid.SampledFrom([]execution.Role{execution.RoleUser, execution.RoleAssistant, execution.RoleTool}).Draw(t, "role"),
		rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "id"),
	)
	m.RunID = rapid.SampledFrom([]execution.ID{"", "other"}).Draw(t, "run")
	if rapid.Bool().Draw(t, "indexed") {
		m.StepIndex = ptr(rapid.IntRange(0, 5).Draw(t, "index"))
	}
	return m
}

// plain are the marks of the messages, with the numbers in place of their addresses.
func plain(messages []backend.Message) []string {
	var out []string
	for _, m := range messages {
		index := -1
		if m.StepIndex != nil {
			index = *m.StepIndex
		}
		out = append(out, fmt.Sprintf("%s %s %s %d", m.Role, m.ID, m.RunID, index))
	}
	return out
}

func TestMessageRange(t *testing.T) {
	t.Parallel()
	require.Nil(t, backend.NewMessageRange(0, 3), "the first message is 1")
	require.Nil(t, backend.NewMessageRange(4, 3))
	require.Equal(t, &backend.MessageRange{From: 3, To: 3}, backend.NewMessageRange(3, 3))
}
