package executor

import (
	"encoding/json"
	"fmt"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// ledgerVersion is the v of the intents and receipts this release writes.
const ledgerVersion = 1

// storedIntent is what the ledger holds of a planned call. The call's id is the entry's key, and its effect id follows
// from that.
type storedIntent struct {
	V          int             `json:"v"`
	Name       string          `json:"name"`
	Arguments  json.RawMessage `json:"arguments"`
	ProviderID string          `json:"providerId,omitempty"`
}

// intent is a planned call.
type intent struct {
	Call     execution.ToolCall
	EffectID string
}

// receiptRecord is what the ledger holds of a call that is done.
type receiptRecord struct {
	V      int                  `json:"v"`
	Result execution.ToolResult `json:"result"`
}

func newPlan(id execution.ID, call execution.ToolCall) (journal.Plan, error) {
	data, err := json.Marshal(storedIntent{
		V: ledgerVersion, Name: call.Name, Arguments: call.Arguments, ProviderID: call.ProviderID,
	})
	if err != nil {
		return journal.Plan{}, fmt.Errorf("plan %s of %s: %w", call.CallID, id, err)
	}
	return journal.Plan{CallID: call.CallID, Intent: data}, nil
}

func decodeIntent(id execution.ID, stored journal.LedgerEntry) (intent, error) {
	var read storedIntent
	if err := json.Unmarshal(stored.Intent, &read); err != nil {
		return intent{}, unread("intent of "+string(stored.CallID), stored.Intent, ledgerVersion, err)
	}
	if err := checkVersion("intent of "+string(stored.CallID), read.V, ledgerVersion); err != nil {
		return intent{}, err
	}
	return intent{
		Call: execution.ToolCall{
			CallID: stored.CallID, Name: read.Name, Arguments: read.Arguments, ProviderID: read.ProviderID,
		},
		EffectID: execution.EffectID(id, stored.CallID),
	}, nil
}

func encodeReceipt(result execution.ToolResult) ([]byte, error) {
	data, err := json.Marshal(receiptRecord{V: ledgerVersion, Result: result})
	if err != nil {
		return nil, fmt.Errorf("encode the receipt of %s: %w", result.CallID, err)
	}
	return data, nil
}

func decodeReceipt(data []byte) (execution.ToolResult, error) {
	var record receiptRecord
	if err := json.Unmarshal(data, &record); err != nil {
		return execution.ToolResult{}, unread("receipt", data, ledgerVersion, err)
	}
	if err := checkVersion("receipt", record.V, ledgerVersion); err != nil {
		return execution.ToolResult{}, err
	}
	return record.Result, nil
}

// entry is a ledger entry with its intent decoded.
type entry struct {
	journal.LedgerEntry
	intent intent
}

// entries decodes the ledger of the batch. Every call of the batch must have its intent.
func (m *machine) entries() (map[execution.CallID]entry, error) {
	out := make(map[execution.CallID]entry, len(m.ledger))
	for _, stored := range m.ledger {
		planned, err := decodeIntent(m.id, stored)
		if err != nil {
			return nil, err
		}
		out[stored.CallID] = entry{LedgerEntry: stored, intent: planned}
	}
	for _, id := range m.state.Batch.callIDs() {
		if _, ok := out[id]; !ok {
			return nil, fmt.Errorf("%w: %s of the batch is not in the ledger", ErrCheckpoint, id)
		}
	}
	return out, nil
}

// results are the receipts of the batch as messages, in its order; calls without one are answered by an error.
func (m *machine) results() []execution.Message {
	out := make([]execution.Message, 0, len(m.state.Batch.Calls))
	for _, call := range m.state.Batch.Calls {
		result, ok := m.received[call.CallID]
		if !ok {
			result = unanswered(execution.ToolCall{CallID: call.CallID, Name: call.Name})
		}
		out = append(out, resultMessage(result))
	}
	return out
}

// danglingResults answers the calls that the history would else leave open when the run ends here.
func (m *machine) danglingResults() []execution.Message {
	switch {
	case m.state.Batch != nil:
		return m.results()
	case m.node == ModelResponse && m.state.Response != nil:
		var out []execution.Message
		for _, call := range m.state.Response.ToolCalls {
			out = append(out, resultMessage(unanswered(call)))
		}
		return out
	default:
		return nil
	}
}

func unanswered(call execution.ToolCall) execution.ToolResult {
	return execution.ErrorResult(call, execution.ToolExecution, unansweredText)
}

// readReceipts takes what the ledger knows into the machine. A receipt that cannot be read counts as missing only for
// the history of a failing run; a step that needs it reports it.
func (m *machine) readReceipts() error {
	m.received = map[execution.CallID]execution.ToolResult{}
	var bad error
	for _, stored := range m.ledger {
		if stored.State != journal.Done {
			continue
		}
		result, err := decodeReceipt(stored.Receipt)
		if err != nil {
			bad = err
			continue
		}
		m.received[stored.CallID] = result
	}
	return bad
}
