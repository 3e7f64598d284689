package a2a

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	sdk "github.com/a2aproject/a2a-go/a2a"

	"github.com/pawl-run/pawl/execution"
)

// answerID is the artifact that holds the answer of a task.
const answerID sdk.ArtifactID = "answer"

// metaSequence is where in the log an event of a stream stands, as its id does. Whoever subscribes again may name it.
const metaSequence = "pawl.sequence"

// taskOf is an execution as a task, without history.
func taskOf(view execution.View) *sdk.Task {
	return &sdk.Task{
		ID: sdk.TaskID(view.ID), ContextID: string(view.ConversationID), Status: statusOf(view), Artifacts: artifactsOf(view),
	}
}

// statusOf is where an execution stands. The table is in docs/a2a.md.
func statusOf(view execution.View) sdk.TaskStatus {
	status := sdk.TaskStatus{State: sdk.TaskStateWorking, Timestamp: at(view.UpdatedAtMs)}
	say := func(metadata map[string]any, parts ...sdk.Part) {
		status.Message = said(view.ID, view.ConversationID, fmt.Sprintf("%s-%d", view.ID, view.Version), metadata, parts...)
	}
	switch view.State {
	case execution.Queued:
		status.State = sdk.TaskStateSubmitted
	case execution.WaitingForInput:
		status.State = sdk.TaskStateInputRequired
		if view.Interaction != nil {
			status = question(view, *view.Interaction)
		}
	case execution.Suspended:
		if s := view.Suspension; s != nil {
			say(map[string]any{"suspended": string(s.Reason)}, sdk.TextPart{Text: suspensionText(*s)})
		}
	case execution.Completed:
		status.State = sdk.TaskStateCompleted
	case execution.Failed:
		status.State = sdk.TaskStateFailed
		if f := view.Failure; f != nil {
			say(map[string]any{"code": f.Code}, sdk.TextPart{Text: failureText(f.Code, f.Message)})
		}
	case execution.Canceled:
		status.State = sdk.TaskStateCanceled
	case execution.Running, execution.Finalizing:
	}
	return status
}

// question is the status of a task that waits for an answer: the question in words, and whole as data.
func question(view execution.View, open execution.Interaction) sdk.TaskStatus {
	state := sdk.TaskStateInputRequired
	if open.Kind == execution.Authentication {
		state = sdk.TaskStateAuthRequired
	}
	parts := []sdk.Part{sdk.TextPart{Text: open.Prompt}}
	if data, err := plain(open); err == nil {
		parts = append(parts, sdk.DataPart{Data: map[string]any{"interaction": data}})
	}
	return sdk.TaskStatus{
		State: state, Timestamp: at(view.UpdatedAtMs),
		Message: said(view.ID, view.ConversationID, string(open.RequestID), nil, parts...),
	}
}

func suspensionText(s execution.Suspension) string {
	text := fmt.Sprintf("The task is suspended (%s) until somebody who operates it resumes it.", s.Reason)
	if s.Detail != "" {
		text += " " + s.Detail
	}
	return text
}

func failureText(code, message string) string { return fmt.Sprintf("%s (%s)", message, code) }

// said is a message of the agent's.
func said(
	id execution.ID, conversation execution.ConversationID, name string, metadata map[string]any, parts ...sdk.Part,
) *sdk.Message {
	return &sdk.Message{
		ID: name, Role: sdk.MessageRoleAgent, TaskID: sdk.TaskID(id), ContextID: string(conversation),
		Parts: parts, Metadata: metadata,
	}
}

// artifactsOf is the answer of an execution that has one.
func artifactsOf(view execution.View) []*sdk.Artifact {
	if view.Outcome == nil {
		return nil
	}
	parts := []sdk.Part{sdk.TextPart{Text: view.Outcome.Answer}}
	return []*sdk.Artifact{{ID: answerID, Name: string(answerID), Parts: append(parts, outputParts(view.Outcome)...)}}
}

// outputParts is the structured answer. The protocol has objects only; the flag is how others mark a value that is none.
func outputParts(outcome *execution.Outcome) []sdk.Part {
	if len(outcome.Output) == 0 {
		return nil
	}
	value, err := decoded(outcome.Output)
	if err != nil {
		return nil
	}
	if object, is := value.(map[string]any); is {
		return []sdk.Part{sdk.DataPart{Data: object}}
	}
	return []sdk.Part{sdk.DataPart{
		Data: map[string]any{"value": value}, Metadata: map[string]any{"data_part_compat": true},
	}}
}

// plain is a value as its JSON has it.
func plain(value any) (any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return decoded(data)
}

// decoded is JSON with numbers as they are written.
func decoded(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	return value, decoder.Decode(&value)
}

func at(ms int64) *time.Time {
	t := time.UnixMilli(ms).UTC()
	return &t
}

// interrupted reports whether a task goes on only when somebody does something.
func interrupted(state execution.State) bool {
	return state == execution.WaitingForInput || state == execution.Suspended
}
