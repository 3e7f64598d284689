package backend

import (
	"math"
	"slices"

	"github.com/pawl-run/pawl/execution"
)

// MessageLog is a transcript as a run leaves it: who produced what, and which part the run was given.
type MessageLog struct {
	Messages []Message
	Input    *RunInput
	Output   *RunProduct
}

// MaterializeMessages says of each message behind the run's input that the run produced it, if it is an answer or a tool's
// result and nobody else did. inputCount is how many messages the run was given; previous is nil at its first end. The
// messages handed in stay as they are.
func MaterializeMessages(
	messages []Message, previous *RunRecord, identity RunIdentity, steps, inputCount int,
) MessageLog {
	log := MessageLog{Messages: slices.Clone(messages), Input: runInput(previous, identity, inputCount)}
	first := firstOutput(log.Input, inputCount)
	var stepIndex *int
	if steps > 0 {
		index := steps - 1
		stepIndex = &index
	}
	var from, to uint64
	var ids []string
	for i := range log.Messages {
		message, sequence := &log.Messages[i], uint64(i)+1
		if sequence < first || !producedByRuns(message.Role) {
			continue
		}
		message.markProducedBy(identity.RunID, stepIndex)
		if from == 0 {
			from = sequence
		}
		to = sequence
		if message.ID != "" {
			ids = append(ids, message.ID)
		}
	}
	switch {
	case from > 0:
		log.Output = &RunProduct{
			ConversationID: identity.ConversationID, Range: NewMessageRange(from, to), MessageIDs: ids,
		}
	case previous != nil:
		log.Output = previous.Output
	}
	return log
}

// runInput is what the run was given at its first call, else the messages it begins with; nil when there are none.
func runInput(previous *RunRecord, identity RunIdentity, count int) *RunInput {
	if previous != nil && previous.Input != nil {
		return previous.Input
	}
	if count <= 0 {
		return nil
	}
	return &RunInput{ConversationID: identity.ConversationID, Range: NewMessageRange(1, uint64(count))}
}

// firstOutput is the position of the first message the run may have produced.
func firstOutput(input *RunInput, count int) uint64 {
	if input != nil && input.Range != nil {
		if input.Range.To == math.MaxUint64 {
			return math.MaxUint64
		}
		return input.Range.To + 1
	}
	return uint64(max(count, 0)) + 1
}

func producedByRuns(role execution.Role) bool {
	return role == execution.RoleAssistant || role == execution.RoleTool
}
