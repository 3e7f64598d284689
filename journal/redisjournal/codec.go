package redisjournal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// rowVersion is the v field of rows: the version of their shape.
const rowVersion = "1"

// encoder turns values into what is stored; the first failure is kept.
type encoder struct{ err error }

func (e *encoder) event(payload execution.Payload) string {
	encoded, err := execution.EncodePayload(payload)
	e.note(err)
	return shortEvent(payload.EventType(), encoded)
}

func (e *encoder) blob(value any) string {
	encoded, err := json.Marshal(value)
	e.note(err)
	return string(encoded)
}

// usage is the stored form of a usage, empty for none.
func (e *encoder) usage(usage *execution.Usage) string {
	if usage == nil {
		return ""
	}
	return encodeUsage(*usage)
}

// encodeUsage writes the counts in the order of the struct, with a space between them. The cost, 1 for a partial usage, the
// lost and the delegated requests stand behind them only when they, or what stands behind them, are not zero.
func encodeUsage(u execution.Usage) string {
	text := make([]byte, 0, 64)
	for _, count := range []int64{
		u.Requests, u.InputTokens, u.CacheReadTokens, u.CacheWriteTokens, u.OutputTokens, u.TotalTokens, u.ToolCalls,
	} {
		text = append(strconv.AppendInt(text, count, 10), ' ')
	}
	behind := []int64{u.CostMicros, int64(flag(u.Partial)), u.LostRequests, u.DelegatedRequests}
	for len(behind) > 0 && behind[len(behind)-1] == 0 {
		behind = behind[:len(behind)-1]
	}
	for _, count := range behind {
		text = append(strconv.AppendInt(text, count, 10), ' ')
	}
	return string(text[:len(text)-1])
}

func flag(set bool) int {
	if set {
		return 1
	}
	return 0
}

func decodeUsage(text string) (u execution.Usage, err error) {
	for _, count := range []*int64{
		&u.Requests, &u.InputTokens, &u.CacheReadTokens, &u.CacheWriteTokens, &u.OutputTokens, &u.TotalTokens, &u.ToolCalls,
	} {
		word, rest, _ := strings.Cut(text, " ")
		if *count, err = strconv.ParseInt(word, 10, 64); err != nil {
			return u, fmt.Errorf("%w: usage: %w", errEncoding, err)
		}
		text = rest
	}
	if text == "" {
		return u, nil
	}
	var partial int64
	counts := []*int64{&u.CostMicros, &partial, &u.LostRequests, &u.DelegatedRequests}
	words := strings.Split(text, " ")
	for i := range min(len(words), len(counts)) {
		if *counts[i], err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return u, fmt.Errorf("%w: usage: %w", errEncoding, err)
		}
	}
	u.Partial = partial == 1
	return u, nil
}

func (e *encoder) note(err error) {
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%w: %w", errEncoding, err)
	}
}

// allowed lists the states in which a move is allowed, as scripts take them.
func allowed(move journal.Move) string { return allowedStates()[move] }

// allowedStates is the state table as scripts take it, worked out once.
var allowedStates = sync.OnceValue(func() map[journal.Move]string {
	texts := make(map[journal.Move]string)
	for _, rule := range journal.StateTable() {
		texts[rule.Move] = states(rule.From)
	}
	return texts
})

func states(list []execution.State) string {
	texts := make([]string, len(list))
	for i, state := range list {
		texts[i] = string(state)
	}
	return strings.Join(texts, ",")
}

func terminalStates() string {
	var list []execution.State
	for _, state := range execution.States() {
		if state.Terminal() {
			list = append(list, state)
		}
	}
	return states(list)
}

func bit(value bool) string {
	if value {
		return "1"
	}
	return ""
}

// optional is a number, or empty for zero.
func optional(value int64) string {
	if value == 0 {
		return ""
	}
	return strconv.FormatInt(value, 10)
}

// decoder reads the fields of a row; the first failure is kept.
type decoder struct {
	fields map[string]string
	err    error
}

func (d *decoder) text(name string) string { return d.fields[name] }
func (d *decoder) flag(name string) bool   { return d.fields[name] != "" }

func (d *decoder) ms(name string) int64 {
	if d.fields[name] == "" {
		return 0
	}
	value, err := strconv.ParseInt(d.fields[name], 10, 64)
	d.note(name, err)
	return value
}

func (d *decoder) unsigned(name string) uint64 {
	if d.fields[name] == "" {
		return 0
	}
	value, err := strconv.ParseUint(d.fields[name], 10, 64)
	d.note(name, err)
	return value
}

// blob decodes a field into value and reports whether it was there.
func (d *decoder) blob(name string, value any) bool {
	if d.fields[name] == "" {
		return false
	}
	d.note(name, json.Unmarshal([]byte(d.fields[name]), value))
	return true
}

func (d *decoder) note(name string, err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("%w: field %s of row %s: %w", errEncoding, name, d.fields["id"], err)
	}
}

// decodeRow reads fields, last sequence, receipts, the long fields of a row that has ended, and the id. A row that has ended
// holds no queue when it is that of priority normal, and no instant of its last change when it is that of its end; no row
// holds priority normal.
func decodeRow(r *reply) (journal.Execution, error) {
	d := &decoder{fields: r.pairs(0)}
	maps.Copy(d.fields, r.pairs(3))
	d.fields["id"] = r.text(4)
	if newest, err := strconv.Atoi(rowVersion); err == nil && d.ms("v") > int64(newest) {
		return journal.Execution{}, fmt.Errorf("%w: row %s has version %s", execution.ErrNewer, d.fields["id"], d.fields["v"])
	}
	row := journal.Execution{
		ID:              execution.ID(d.text("id")),
		ConversationID:  journal.NamedConversation(d.text("conversation")),
		Caller:          execution.CallerScope{Tenant: d.text("tenant"), Subject: d.text("subject")},
		IdempotencyKey:  d.text("idempotencyKey"),
		Agent:           d.text("agent"),
		Definition:      longHash(d.text("definition")),
		Priority:        execution.Priority(cmp.Or(d.text("priority"), string(execution.Normal))),
		Queue:           cmp.Or(d.text("queue"), execution.Normal.Queue()),
		State:           execution.State(d.text("state")),
		Node:            d.text("node"),
		Step:            execution.Step(d.unsigned("step")),
		Version:         d.unsigned("version"),
		Wake:            execution.Wake(d.unsigned("wake")),
		NotBeforeMs:     d.ms("notBeforeMs"),
		Attempts:        int(d.ms("attempts")),
		Reclaims:        int(d.ms("reclaims")),
		CancelRequested: d.flag("cancelAtMs"),
		PauseRequested:  d.flag("pauseAtMs"),
		Active:          d.flag("active"),
		HistoryStart:    int(d.ms("historyStart")),
		HistoryEnd:      int(d.ms("historyEnd")),
		ForkedFrom:      d.origin(),
		Parent:          d.parent(),
		Children:        int(d.ms("children")),
		CreatedAtMs:     d.ms("createdAtMs"),
		StartedAtMs:     d.ms("startedAtMs"),
		UpdatedAtMs:     cmp.Or(d.ms("updatedAtMs"), d.ms("endedAtMs")),
		EndedAtMs:       d.ms("endedAtMs"),
		DeadlineAtMs:    d.ms("deadlineAtMs"),
		LastSequence:    execution.Sequence(r.number(1)),
	}
	d.blob("request", &row.Request)
	if overrides := d.text("overrides"); overrides != "" {
		row.Overrides = []byte(overrides)
	}
	if cleanup := d.text("cleanup"); cleanup != "" {
		row.Cleanup = []byte(cleanup)
	}
	var err error
	row.Usage, err = decodeUsage(d.text("usage"))
	d.note("usage", err)
	d.parts(&row)
	row.InputReceipts = d.receipts(r.pairs(2))
	if r.err != nil {
		return row, r.err
	}
	return row, d.err
}

// parts reads what a row may be without.
func (d *decoder) parts(row *journal.Execution) {
	if kind := d.text("waitKind"); kind != "" {
		row.Wait = &execution.Wait{Kind: execution.WaitKind(kind), UntilMs: d.ms("waitUntilMs")}
	}
	if reason := d.text("suspensionReason"); reason != "" {
		row.Suspension = &execution.Suspension{
			Reason: execution.SuspendReason(reason), Detail: d.text("suspensionDetail"),
		}
	}
	var outcome execution.Outcome
	if d.blob("outcome", &outcome) {
		row.Outcome = &outcome
	}
	var failure execution.Failure
	if d.blob("failure", &failure) {
		row.Failure = &failure
	}
	d.claim(row)
	d.interaction(row)
}

// claim reads who holds the row, and what is kept of those whose claims ran out.
func (d *decoder) claim(row *journal.Execution) {
	if fence := d.text("fence"); fence != "" {
		row.Claim = &journal.Claim{
			Worker: journal.WorkerID(d.text("worker")), Fence: journal.Fence(fence), ExpiresAtMs: d.ms("expiresAtMs"),
		}
	}
	if workers := d.text("reclaimWorkers"); workers != "" {
		for worker := range strings.SplitSeq(workers, "\n") {
			row.ReclaimWorkers = append(row.ReclaimWorkers, journal.WorkerID(worker))
		}
	}
}

// interaction reads the open question and the delegation.
func (d *decoder) interaction(row *journal.Execution) {
	var interaction execution.Interaction
	if d.blob("interaction", &interaction) {
		interaction.ExpiresAtMs = d.ms("interactionExpiresAtMs") // the store's clock decides, not the blob
		row.PendingInteraction = &interaction
	}
	if d.flag("delegated") {
		row.Delegation = &journal.Delegation{
			LeaseRef: journal.LeaseRef(d.text("delegationLease")), ExpiresAtSeconds: d.unsigned("delegationExpiresAtSeconds"),
			Revision: d.unsigned("delegationRevision"), CleanupComplete: d.flag("delegationClean"),
		}
	}
}

// storedReceipt is an input receipt as the receipts hash holds it, behind its event's sequence.
type storedReceipt struct {
	RequestID execution.RequestID `json:"requestId"`
	Response  string              `json:"response"`
}

// encodeOrigin writes "<execution> <step>".
func encodeOrigin(origin execution.Origin) string {
	return string(origin.ExecutionID) + " " + strconv.FormatUint(uint64(origin.Step), 10)
}

func (d *decoder) origin() *execution.Origin {
	id, at, found := strings.Cut(d.text("origin"), " ")
	if !found {
		return nil
	}
	step, err := strconv.ParseUint(at, 10, 64)
	d.note("origin", err)
	return &execution.Origin{ExecutionID: execution.ID(id), Step: execution.Step(step)}
}

const operationField = "operation:"

func (d *decoder) receipts(fields map[string]string) map[execution.OperationID]journal.InputReceipt {
	var receipts map[execution.OperationID]journal.InputReceipt
	for field, value := range fields {
		operation, ok := strings.CutPrefix(field, operationField)
		if !ok {
			continue
		}
		at, blob, _ := strings.Cut(value, " ")
		sequence, err := strconv.ParseUint(at, 10, 64)
		d.note(field, err)
		var stored storedReceipt
		d.note(field, json.Unmarshal([]byte(blob), &stored))
		if receipts == nil {
			receipts = make(map[execution.OperationID]journal.InputReceipt)
		}
		receipts[execution.OperationID(operation)] = journal.InputReceipt{
			RequestID: stored.RequestID, ResponseText: stored.Response, EventSequence: execution.Sequence(sequence),
		}
	}
	return receipts
}
