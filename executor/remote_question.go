package executor

import (
	"cmp"
	"fmt"

	"github.com/pawl-run/pawl/backend"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// What is asked, and told to the remote, when nobody says more.
const (
	remoteAsksText     = "The remote agent asks for input."
	remoteAuthText     = "The remote agent asks for an authorization."
	remoteDeclinedText = "The user declined to answer."
)

// remoteAsks opens an interaction with the remote's question.
func (m *machine) remoteAsks(kind execution.InteractionKind, led *backend.Led) advance {
	prompt := led.Answer
	if led.Status.Message != nil && *led.Status.Message != "" {
		prompt = *led.Status.Message
	}
	if kind == execution.Authentication {
		prompt = cmp.Or(prompt, remoteAuthText)
	}
	prompt = cmp.Or(prompt, remoteAsksText)
	m.state.Remote.Question = &RemoteQuestion{Kind: kind, Prompt: prompt}
	return m.askForRemote(m.questionOfRemote(prompt))
}

// askForRemote parks until the open question has its answer.
func (m *machine) askForRemote(messages ...execution.Message) advance {
	question := m.state.Remote.Question
	question.Request = execution.RequestID(fmt.Sprintf("req_%d_0", m.step+1))
	m.state.Status = StatusWaiting
	a := m.next(BeforeModelRequest, messages...)
	a.then = parkFor(&execution.Interaction{
		RequestID: question.Request, Kind: question.Kind, Prompt: question.Prompt,
	})
	return a
}

// parkFor waits for the answer to an interaction.
func parkFor(interaction *execution.Interaction) journal.Then {
	then := journal.Then{
		Kind: journal.ThenPark, Interaction: interaction, Await: []execution.RequestID{interaction.RequestID}, WaitKind: execution.WaitInput,
	}
	if interaction.Kind == execution.Authentication {
		then.WaitKind = execution.WaitAuth
	}
	return then
}

// remoteReply takes the answer to the open question into the history; the next node tells the remote. Without an answer the
// boundary was left by a policy, and the question is asked again.
func (m *machine) remoteReply() (advance, error) {
	question := m.state.Remote.Question
	input, found, err := m.reply(question.Request)
	if err != nil {
		return advance{}, err
	}
	if !found {
		return m.askForRemote(), nil
	}
	text := input.Text
	if input.Declined || input.Type == inputExpired {
		text = remoteDeclinedText
	}
	question.Answered = true
	m.state.Status = StatusRunning
	a := m.next(BeforeModelRequest, execution.Message{Role: execution.RoleUser, Text: text})
	a.consumed = []execution.RequestID{question.Request}
	return a, nil
}
