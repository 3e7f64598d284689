package agent

import "strings"

// FinalAnswer is the name of the tool by which a model with structuredOutput: tool gives its answer.
const FinalAnswer = "final_answer"

// UsesOutputTool reports whether the model, or one that is asked in its place, answers by calling FinalAnswer.
func (m Model) UsesOutputTool() bool {
	if m.StructuredOutput == StructuredTool {
		return true
	}
	for _, other := range m.Fallback {
		if other.StructuredOutput == StructuredTool {
			return true
		}
	}
	return false
}

// refuseAnswerTool reports tools that a model which answers by a tool could not tell from that one.
func refuseAnswerTool(agent *object, d *Definition) {
	if !d.Model.UsesOutputTool() {
		return
	}
	for i, tool := range d.Tools {
		if tool.Name == FinalAnswer || tool.Type == ToolMCP && strings.HasPrefix(FinalAnswer, tool.ToolPrefix()) {
			agent.add(agent.node.line, agent.item("tools", i)+".name",
				"%q is the tool by which the agent's model gives its answer", FinalAnswer)
		}
	}
}
