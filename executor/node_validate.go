package executor

import (
	"fmt"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// afterValidateOutput ends the run with an answer that fits, or sends a misfit back with the error.
func (m *machine) afterValidateOutput() advance {
	text := ""
	if m.state.Response != nil {
		text = m.state.Response.Text
	}
	output, err := m.schemas.output(m.definition.OutputSchema, text)
	switch {
	case err == nil:
		if output == nil && m.state.Response != nil {
			output = m.state.Response.Output
		}
		return m.complete(execution.Outcome{Answer: text, Output: output})
	case m.state.OutputRetriesUsed >= m.definition.OutputRetries:
		return m.fail(execution.CodeOutputRetryLimit, fmt.Sprintf("the answer does not fit its schema: %v", err))
	}
	m.state.OutputRetriesUsed++
	m.state.Response = nil
	return m.nextTurn(execution.Message{
		Role: execution.RoleUser,
		Text: fmt.Sprintf("The answer does not fit the required schema: %v\n%s", err, m.howToAnswer()),
	})
}

func (m *machine) howToAnswer() string {
	if m.answersByTool() {
		return "Please call " + agent.FinalAnswer + " with an answer that fits."
	}
	return "Please answer again with JSON that fits."
}
