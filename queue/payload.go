package queue

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// taskKind is the one kind of task.
const taskKind = "pawl:step"

// maxPayload is the most bytes a task carries: Asynq writes the payloads of all tasks in progress to Redis every 5 s.
const maxPayload = 200

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
	data := make([]byte, 0, maxPayload)
	data = append(append(append(data, beforeID...), task.Execution...), beforeStep...)
	data = append(strconv.AppendUint(data, uint64(task.Step), 10), beforeWake...)
	return append(strconv.AppendUint(data, uint64(task.Wake), 10), '}'), nil
}

// What stands between the values of a payload as it is written. An id needs no quoting.
const (
	beforeID   = `{"executionId":"`
	beforeStep = `","step":`
	beforeWake = `,"wake":`
)

// split takes a payload apart that looks as this release writes it.
func split(data string) (p payload, ok bool) {
	id, rest, hasStep := strings.Cut(strings.TrimPrefix(data, beforeID), beforeStep)
	step, wake, hasWake := strings.Cut(strings.TrimSuffix(rest, "}"), beforeWake)
	if !hasStep || !hasWake || !strings.HasPrefix(data, beforeID) || !strings.HasSuffix(data, "}") {
		return p, false
	}
	n, errStep := strconv.ParseUint(step, 10, 64)
	w, errWake := strconv.ParseUint(wake, 10, 64)
	return payload{execution.ID(id), execution.Step(n), execution.Wake(w)}, errStep == nil && errWake == nil
}

func decodePayload(queue string, data []byte) (execution.Task, error) {
	p, ok := split(string(data))
	if !ok {
		if err := json.Unmarshal(data, &p); err != nil {
			return execution.Task{}, fmt.Errorf("decode task: %w", err)
		}
	}
	id, err := execution.ParseID(string(p.ExecutionID))
	if err != nil {
		return execution.Task{}, fmt.Errorf("decode task: %w", err)
	}
	return execution.Task{Execution: id, Step: p.Step, Wake: p.Wake, Queue: queue}, nil
}
