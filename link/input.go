package link

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// SubmitInput implements RuntimeLink.
func (l *session) SubmitInput(
	ctx context.Context, id execution.ID, input execution.SubmitInput,
) (execution.View, error) {
	if err := validateInput(input); err != nil {
		return execution.View{}, err
	}
	response, err := canonicalInput(input.Input)
	if err != nil {
		return execution.View{}, err
	}
	row, err := l.steer(ctx, "input", id)
	if err != nil {
		return execution.View{}, err
	}
	if input.Input.Type == execution.ToolResultInput {
		return l.service.takeResult(ctx, row, input, response)
	}
	// A repeated operation answers as before even when the row has moved on, so the journal decides it by its receipt.
	if _, repeated := row.InputReceipts[input.OperationID]; !repeated {
		if err := answers(&row, input.Input); err != nil {
			return execution.View{}, err
		}
		if err := l.service.checkEdits(ctx, &row, input.Input.Decisions); err != nil {
			return execution.View{}, err
		}
	}
	view, err := l.service.answer(ctx, id, journal.InteractionInput{
		OperationID: input.OperationID, RequestID: input.Input.RequestID, Response: response,
	})
	if err != nil {
		return execution.View{}, l.service.inputProblem(ctx, id, input, err)
	}
	return view, nil
}

// answer writes an input and hands over what follows. The error is the journal's.
func (s *Service) answer(
	ctx context.Context, id execution.ID, input journal.InteractionInput,
) (execution.View, error) {
	mutation, err := s.cfg.Journal.CommitInteractionInput(ctx, id, input)
	if err != nil {
		return execution.View{}, err
	}
	s.enqueue(ctx, mutation.Tasks)
	return mutation.Execution.View(), nil
}

// inputProblem says why the journal refused an input. The row may have moved on since it was read: another answer came
// first, or the same one by another way.
func (s *Service) inputProblem(ctx context.Context, id execution.ID, input execution.SubmitInput, err error) error {
	if !errors.Is(err, journal.ErrConflict) {
		return s.problem(ctx, "input "+string(id), err)
	}
	row, readErr := s.cfg.Journal.Get(ctx, id)
	if readErr != nil {
		return s.problem(ctx, "input "+string(id), err)
	}
	if _, used := row.InputReceipts[input.OperationID]; used {
		return execution.NewAPIError(execution.Conflict,
			"the operation id was used for another input").In("operationId").Because(err)
	}
	return closed(&row, input.Input.RequestID)
}

// canonicalInput is the stored form of an answer; equal answers have equal forms.
func canonicalInput(input execution.Input) (string, error) {
	var err error
	canonical := func(value *json.RawMessage, field string) {
		if err != nil || *value == nil {
			return
		}
		var canon json.RawMessage
		if canon, err = canonicalJSON(*value); err != nil {
			err = invalid(field, "must be JSON").Because(err)
		}
		*value = canon
	}
	input.Decisions = slices.Clone(input.Decisions)
	for i := range input.Decisions {
		canonical(&input.Decisions[i].Answer, decisionField(i, "answer"))
		canonical(&input.Decisions[i].Arguments, decisionField(i, "arguments"))
	}
	canonical(&input.Content, "input.content")
	canonical(&input.Result, "input.result")
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(input)
	if err != nil {
		return "", execution.NewAPIError(execution.Internal, "").Because(fmt.Errorf("encode input: %w", err))
	}
	if len(data) > execution.MaxResponseLength {
		return "", invalid("input", "want at most %d bytes, got %d", execution.MaxResponseLength, len(data))
	}
	return string(data), nil
}

// canonicalJSON sorts the keys of objects and keeps numbers as they were written.
func canonicalJSON(data json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	return json.Marshal(value)
}
