package executor

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
)

// remoteName names a remote agent in the state that its answers leave in the history.
func (m *machine) remoteName() string { return m.definition.Backend + " " + m.definition.Name }

// remoteRequest is the call of the backend that the state asks for. It has new messages when the remote is to be told
// something, and none when somebody only looks how far it is.
func (m *machine) remoteRequest(tells bool) backend.RootRunRequest {
	request := backend.RootRunRequest{
		AgentID:  m.definition.Name,
		Messages: m.remoteTranscript(),
		Identity: backend.RunIdentity{
			ConversationID: m.conversation, RunID: m.id, AgentID: m.definition.Name, Origin: backend.OriginUser,
			RunTrace: backend.RunTrace{TaskID: fmt.Sprintf("%s.%d", m.id, m.step)},
		},
		OperationID: m.remoteOperation(),
	}
	if run := m.state.Remote; run != nil {
		request.IsContinuation, request.State = true, run.State
	} else {
		request.State = m.earlierState()
	}
	if tells {
		request.NewMessages = m.newMessages(request.Messages)
	}
	return request
}

// remoteOperation names what the remote is told: the opened request or, within it, the answer to a question.
func (m *machine) remoteOperation() string {
	run := m.state.Remote
	switch {
	case run == nil:
		return fmt.Sprintf("%s:%s", m.id, m.state.InvocationID)
	case run.Question != nil:
		return fmt.Sprintf("%s:%s:%s", m.id, m.state.InvocationID, run.Question.Request)
	default:
		return run.Operation
	}
}

// remoteTranscript is the history as backends get it, each message under a name of its own.
func (m *machine) remoteTranscript() []backend.Message {
	history := repair(m.messages)
	messages := make([]backend.Message, len(history))
	for i, message := range history {
		messages[i] = backend.Message{Message: message, ID: fmt.Sprintf("%s:%d", m.id, i), RunID: message.Execution}
	}
	return messages
}

// newMessages are those of the user that the remote does not have: behind its last answer or, while it has a task, behind
// its last question. Questions of a task that nobody goes on with are no answers.
func (m *machine) newMessages(messages []backend.Message) []backend.Message {
	first := 0
	for i := range messages {
		if messages[i].Role == execution.RoleAssistant && (m.state.Remote != nil || !isQuestion(&messages[i].Message)) {
			first = i + 1
		}
	}
	var out []backend.Message
	for _, message := range messages[first:] {
		if message.Role == execution.RoleUser {
			out = append(out, message)
		}
	}
	return out
}

// earlierState is what the same agent left when it answered in this conversation last, so that it goes on in what it knows.
func (m *machine) earlierState() *backend.PersistedState {
	for i := len(m.messages) - 1; i >= 0; i-- {
		provider := m.messages[i].Provider
		if provider == nil || provider.Name != m.remoteName() {
			continue
		}
		var state backend.PersistedState
		if json.Unmarshal(provider.Data, &state) == nil {
			return &state
		}
	}
	return nil
}

// questionSuffix ends the name of the provider of a question: no state goes with it.
const questionSuffix = " asks"

func isQuestion(message *execution.Message) bool {
	return message.Provider != nil && strings.HasSuffix(message.Provider.Name, questionSuffix)
}

// answerOfRemote is the remote's answer in the history, with the state that it leaves for the next turn.
func (m *machine) answerOfRemote(led *backend.Led) (execution.Message, error) {
	message := execution.Message{Role: execution.RoleAssistant, Text: led.Answer}
	if led.State == nil {
		return message, nil
	}
	data, err := json.Marshal(withoutLongOutput(led.State))
	if err != nil {
		return message, fmt.Errorf("encode the state of a remote run: %w", err)
	}
	message.Provider = &execution.ProviderState{Name: m.remoteName(), Data: data}
	return message, nil
}

// questionOfRemote is the remote's question in the history.
func (m *machine) questionOfRemote(text string) execution.Message {
	return execution.Message{
		Role: execution.RoleAssistant, Text: text,
		Provider: &execution.ProviderState{Name: m.remoteName() + questionSuffix, Data: json.RawMessage(`null`)},
	}
}
