package queue

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
)

// Kind is the one kind of task.
const Kind = "pawl:step"

// MaxPayload is the most bytes a task carries: Asynq writes the payloads of all tasks in progress to Redis every 5 s.
const MaxPayload = 200

// payload is what a task carries. The queue is not in it: Asynq keeps it beside.
type payload struct {
	ExecutionID execution.ID   `json:"executionId"`
	Step        execution.Step `json:"step"`
	Wake        execution.Wake `json:"wake"`
}

func encodePayload(task execution.Task) ([]byte, error) {
	if _, err := execution.ParseID(string(task.Execution)); err != nil {
		return nil, fmt.Errorf("encode task %s: %w", task.ID(), err)
	}
	data, err := json.Marshal(payload{ExecutionID: task.Execution, Step: task.Step, Wake: task.Wake})
	if err != nil {
		return nil, fmt.Errorf("encode task %s: %w", task.ID(), err)
	}
	return data, nil
}

func decodePayload(queue string, data []byte) (execution.Task, error) {
	var p payload
	if err := json.Unmarshal(data, &p); err != nil {
		return execution.Task{}, fmt.Errorf("decode task: %w", err)
	}
	id, err := execution.ParseID(string(p.ExecutionID))
	if err != nil {
		return execution.Task{}, fmt.Errorf("decode task: %w", err)
	}
	return execution.Task{Execution: id, Step: p.Step, Wake: p.Wake, Queue: queue}, nil
}
