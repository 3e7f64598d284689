package mcptool

import (
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// errUnclear: several calls on one session, and the server has asked in each of them.
var errUnclear = errors.New("its MCP server asked questions in several calls at once, and did not say in which it asked what")

// ready is what the call brings to the server: the answers to the round, if there is one. question is what must be asked
// first.
func (t *talk) ready() (responses mcp.InputResponseMap, question *local.Question, err error) {
	if t.Round == nil {
		return nil, nil, nil
	}
	responses, why := t.Round.responses()
	next := t.Round.next()
	if next == nil {
		return responses, nil, nil
	}
	return nil, next.prompt(why), nil
}

// prompt is the question for a person.
func (q *question) prompt(why string) *local.Question {
	prompt := q.Message
	if why != "" {
		prompt = "The answer does not fit: " + why + "\n" + prompt
	}
	return &local.Question{Kind: execution.Elicitation, Prompt: prompt, Schema: q.Schema, Resume: true}
}

// ask is the answer that asks, with the talk kept for the call that follows; an error result when that is not possible.
func (t *Tool) ask(call execution.ToolCall, talk *talk, question *local.Question, err error) local.Answer {
	if err == nil {
		question.State, err = talk.state()
	}
	if err != nil {
		result := execution.ErrorResult(call, execution.ToolExecution, fmt.Sprintf("the MCP server of %s asked a question: %v", t.spec.Name, err))
		return local.Answer{Result: &result}
	}
	if question.Prompt == "" {
		question.Prompt = fmt.Sprintf("The tool %s needs to know something.", t.spec.Name)
	}
	question.ExpiresAfter, question.OnExpiry = t.set.declared.ExpiresAfter, t.set.declared.OnExpiry
	return local.Answer{Question: question}
}
