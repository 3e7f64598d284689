package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// finishLength is why an answer ended that reached its bound.
const finishLength = "length"

// Codes of warnings about model requests.
const (
	warningFallback  = "model_fallback"
	warningAnswerCut = "answer_cut"
)

// asking is a model request on its way.
type asking struct {
	failed  int         // attempts at this request that failed
	model   agent.Model // that is asked now
	request local.ModelRequest
	// left is how much of the answer the limits leave room for; 0: they do not bound it.
	left int64
}

// ways is how many models may be asked.
func (m *machine) ways() int { return 1 + len(m.definition.Model.Fallback) }

// failures counts the attempts at the open request that failed. With a fallback list each of them has committed the boundary
// again, and the journal's attempts are of something else, such as a list of tools that could not be had.
func (m *machine) failures() int {
	if m.ways() > 1 {
		return m.state.ModelFailures
	}
	return m.state.ModelFailures + m.attempts
}

// choose takes the model whose turn it is. A model whose provider wants to be left alone for a while is passed over when
// another one of the round is free; when none is, park is how long the request waits.
func (m *machine) choose(ctx context.Context) (a asking, park time.Duration, err error) {
	round := m.failures() / m.ways()
	for failed := m.failures(); failed/m.ways() == round; failed++ {
		model := m.definition.Model.At(failed)
		wait, err := m.env.Admit(ctx, laneOf(model))
		if err != nil {
			return a, 0, err
		}
		if wait == 0 {
			return asking{failed: failed, model: model}, 0, nil
		}
		if park == 0 || wait < park {
			park = wait
		}
	}
	return a, park, nil
}

// parkedUntil waits without holding a worker; then so many attempts count as failed. The boundary is committed again.
func (m *machine) parkedUntil(failed int, wait time.Duration) advance {
	m.state.ModelFailures = failed
	a := m.next(BeforeModelRequest)
	a.then = journal.Then{Kind: journal.ThenPark, WaitKind: execution.WaitRetry, Wait: wait}
	return a
}

// elsewhere asks the next model of the list at once. The boundary is committed again, so that nobody forgets who has failed.
func (m *machine) elsewhere(asked asking, code string) advance {
	m.state.ModelFailures = asked.failed + 1
	next := m.definition.Model.At(m.state.ModelFailures)
	a := m.next(BeforeModelRequest)
	a.events = []execution.Payload{execution.Warning{
		Code:    warningFallback,
		Message: fmt.Sprintf("%s failed (%s); %s is asked", nameOf(asked.model), code, nameOf(next)),
	}}
	return a
}

// modelFailed tells transient errors (the next model of the list, or tried again later), unreadable answers (the model is
// asked again) and permanent errors apart.
func (m *machine) modelFailed(asked asking, err error) advance {
	code, message := execution.CodeModelError, "the model request failed"
	var classified *local.Error
	if errors.As(err, &classified) {
		code, message = classified.Code, classified.Message
	}
	switch {
	case local.KindOf(err) != local.Permanent && (asked.failed+1)%m.ways() != 0:
		return m.elsewhere(asked, code)
	case local.KindOf(err) != local.Permanent:
		return m.nextRound(asked, err)
	case code == local.CodeMalformedResponse && m.state.ModelErrorRetriesUsed < maxModelErrorRetries:
		m.state.ModelErrorRetriesUsed++
		m.state.ModelFailures = 0
		return m.nextTurn(execution.Message{Role: execution.RoleUser, Text: resumePrompt})
	default:
		return m.fail(code, message)
	}
}

// nextRound begins with the first model again, after a while, or suspends the execution when every round is used up: a
// resume gives it all of them anew. The journal counts the rounds, unless earlier boundaries of the request do.
func (m *machine) nextRound(asked asking, err error) advance {
	back := retryOf(m.node, asked.failed/m.ways(), err, m.env.Jitter, nil)
	switch {
	case asked.failed == m.attempts && m.ways() == 1:
		return advance{state: m.state, back: back}
	case back.retry != nil:
		return m.parkedUntil(asked.failed+1, back.retry.After)
	default:
		m.state.ModelFailures = 0
		a := m.next(BeforeModelRequest)
		a.then = journal.Then{Kind: journal.ThenSuspend, Suspension: *back.suspension}
		return a
	}
}

// charge puts what a request cost into the usage: itself, and what the provider reported, at the model's prices.
func (m *machine) charge(model agent.Model, reported *execution.Usage) {
	usage := execution.Usage{}
	if reported != nil {
		usage = *reported
		for _, count := range usageCounts(&usage) { // what a server reports that counts wrong must not take anything back
			*count = max(0, *count)
		}
		if usage.TotalTokens == 0 {
			usage.TotalTokens = addUp(usage.InputTokens, usage.OutputTokens)
		}
	}
	usage.Requests, usage.ToolCalls, usage.LostRequests, usage.DelegatedRequests = 1, 0, 0, 0
	usage.CostMicros = model.Prices.Cost(usage)
	m.state.Usage = m.state.Usage.Add(usage)
}

// chargeLost charges the requests of workers that died before they could say what became of theirs: the request, and about
// what its input costs. Nobody knows whether it was sent, so it counts.
func (m *machine) chargeLost(tools []local.ToolSpec) {
	if m.lost <= 0 {
		return
	}
	model := m.definition.Model.At(m.failures())
	request := m.modelRequest(model, tools)
	input := request.EstimatedInput()
	for range m.lost {
		usage := execution.Usage{Requests: 1, LostRequests: 1, InputTokens: input, TotalTokens: input, Partial: true}
		usage.CostMicros = model.Prices.Cost(usage)
		m.state.Usage = m.state.Usage.Add(usage)
	}
	m.lost = 0
}
