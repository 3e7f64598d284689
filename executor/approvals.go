package executor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/expression"
	"github.com/pawl-run/pawl/journal"
)

// conditionTimeout bounds the evaluation of one condition, beside its cost.
const conditionTimeout = time.Second

// argumentsHash is what an approval is bound to: the SHA-256 of the arguments as the ledger holds them.
func argumentsHash(arguments json.RawMessage) string {
	sum := sha256.Sum256(arguments)
	return hex.EncodeToString(sum[:])
}

// checkApproval makes a call one that asks when its tool's calls need approval and this one, with these arguments, has
// none. Nothing of it is sent or marked before.
func (m *machine) checkApproval(ctx context.Context, p *pending) {
	call := p.entry.intent.Call
	if p.result != nil || p.approved == argumentsHash(call.Arguments) {
		return
	}
	needed, doubt := m.needsApproval(ctx, p.spec.Approval, call.Arguments)
	if !needed {
		return
	}
	p.question = &Question{
		Kind: execution.Approval, Gate: true,
		Prompt:         fmt.Sprintf("May %s be called? Approve it, edit its arguments, answer in its place, or reject it.", call.Name),
		ExpiresAfterMs: p.spec.Approval.ExpiresAfter.Milliseconds(), OnExpiry: p.spec.Approval.OnExpiry,
	}
	if doubt != nil {
		p.question.Note = fmt.Sprintf("Whether %s needs an approval cannot be told: %v.", call.Name, doubt)
	}
}

// needsApproval decides whether a person is asked. A condition that cannot be evaluated asks, and says why.
func (m *machine) needsApproval(ctx context.Context, rule agent.Approval, arguments json.RawMessage) (bool, error) {
	if rule.Always || rule.When == "" {
		return rule.Always, nil
	}
	condition, err := m.schemas.condition(rule.When)
	if err != nil {
		return true, err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), conditionTimeout)
	defer cancel()
	held, err := condition.Holds(ctx, arguments)
	return held || err != nil, err
}

// edit puts a person's arguments in place of the call's, under the same call id and effect id. Those that the tool would
// not understand are asked about again.
func (m *machine) edit(
	status *BatchCall, entries map[execution.CallID]entry, arguments json.RawMessage,
) error {
	edited := entries[status.CallID]
	edited.intent.Call.Arguments = asJSON(arguments, `{}`)
	if tool := m.kit.Tool(status.Name); tool != nil {
		if err := m.fitsTool(tool.Spec(), edited.intent.Call.Arguments); err != nil {
			status.Question.Note = fmt.Sprintf("The arguments given for %s are not valid: %v.", status.Name, err)
			return nil
		}
	}
	plan, err := newPlan(m.id, edited.intent.Call)
	if err != nil {
		return err
	}
	edited.LedgerEntry = journal.LedgerEntry{CallID: status.CallID, State: journal.Planned, Intent: plan.Intent}
	if edited.intent, err = decodeIntent(m.id, edited.LedgerEntry); err != nil {
		return err
	}
	entries[status.CallID] = edited
	status.Approved, status.Edited = argumentsHash(edited.intent.Call.Arguments), true
	status.run(nil)
	return nil
}

// condition compiles the expression, or finds it compiled.
func (s *schemas) condition(text string) (*expression.Condition, error) {
	if s == nil {
		return expression.Compile(text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if kept := s.conditions[text]; kept != nil {
		return kept, nil
	}
	made, err := expression.Compile(text)
	if err != nil {
		return nil, err
	}
	s.conditions[text] = made
	return made, nil
}
