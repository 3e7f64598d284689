package dashboard

import (
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/pawl-run/pawl/execution"
)

// stepsPart is a page of the checkpoints.
type stepsPart struct {
	Rows       []stepRow
	From, Next execution.Step
	Previous   execution.Step
	More       bool
}

func (p *Pages) checkpoints(w http.ResponseWriter, r *http.Request) error {
	body, err := p.checkpointsOf(r)
	if err != nil {
		return err
	}
	p.showOne(w, r, http.StatusOK, "checkpoints", body, nil)
	return nil
}

func (p *Pages) checkpointsOf(r *http.Request) (*oneBody, error) {
	from, err := fromOf(r)
	if err != nil {
		return nil, err
	}
	body, err := p.one(r, "checkpoints")
	if err != nil {
		return nil, err
	}
	step := execution.Step(from)
	before := min(step, 1) // for how long the first one of the page took
	page, err := p.link(r).Checkpoints(r.Context(), body.View.ID, step-before, inHistory+int(before))
	if err == nil && page.NextFrom <= step && page.HasMore { // the one in front of it is a page of its own
		before = 0
		page, err = p.link(r).Checkpoints(r.Context(), body.View.ID, step, inHistory)
	}
	if err != nil {
		return nil, err
	}
	rows := timed(page.Checkpoints)
	body.Steps = &stepsPart{
		Rows: rows[min(int(before), len(rows)):], From: step, Next: max(step, page.NextFrom), More: page.HasMore,
	}
	if step > inHistory {
		body.Steps.Previous = step - inHistory
	}
	return body, nil
}

// stepRow is a checkpoint and how long what led to it took.
type stepRow struct {
	execution.Checkpoint
	Timed        bool  // the following are known
	TookMs       int64 // of the node in front of it
	IdleMs       int64 // before that node, with nobody at work on it
	WithPrevious bool  // it was written at once with the one in front of it
}

// AtEnd reports whether the run has ended there: what is forked from it begins with a message.
func (r *stepRow) AtEnd() bool { return r.Node == "run_complete" || r.Node == "run_failed" }

// timed are checkpoints with their times. One in front of the first one is needed for its own.
func timed(steps []execution.Checkpoint) []stepRow {
	all := make([]stepRow, 0, len(steps))
	for i, one := range steps {
		row := stepRow{Checkpoint: one}
		if start, known := lasted(steps[max(0, i-1)], one); known && i > 0 && one.ClaimedAtMs > 0 {
			before := steps[i-1]
			row.Timed, row.TookMs, row.IdleMs = true, one.CommittedAtMs-start, start-before.CommittedAtMs
			row.WithPrevious = before.CommittedAtMs == one.CommittedAtMs && before.ClaimedAtMs == one.ClaimedAtMs
		}
		all = append(all, row)
	}
	return all
}

// inSteps is how many checkpoints a picture is drawn from: about as many as the steps that a page of the log tells of.
const inSteps = 400

// steps are the checkpoints for the picture of a page of the log: the newest ones, or those from the step on that the
// address names, or from the first one where the log is read from its beginning. Without them there is a picture all the same.
func (p *Pages) steps(r *http.Request, body *oneBody, after execution.Sequence) []execution.Checkpoint {
	from := body.View.Step - min(body.View.Step, inSteps-1)
	if asked, err := strconv.ParseUint(r.URL.Query().Get("step"), 10, 63); err == nil {
		from = execution.Step(asked)
	} else if after == 0 && body.More {
		from = 0
	}
	page, err := p.link(r).Checkpoints(r.Context(), body.View.ID, from, inSteps)
	if err != nil {
		if r.Context().Err() == nil { // else nobody waits for the page any more
			p.cfg.Logger.WarnContext(r.Context(), "a picture is drawn without nodes", "execution", body.View.ID, "error", err)
		}
		return nil
	}
	return page.Checkpoints
}

// stepAt is the step of the last checkpoint that knows of no event behind a sequence: with it the next page's picture begins.
func stepAt(steps []execution.Checkpoint, after execution.Sequence) execution.Step {
	var step execution.Step
	for _, one := range steps {
		if known := cursorOf(one.Evidence); known > after {
			break
		}
		step = one.Step
	}
	return step
}

// cursorOf is the last event that a checkpoint knows of; 0 when that cannot be told.
func cursorOf(evidence []byte) execution.Sequence {
	var known struct {
		Cursor struct {
			StreamCursor execution.Sequence `json:"streamCursor"`
		} `json:"cursor"`
	}
	if json.Unmarshal(evidence, &known) != nil {
		return 0
	}
	return known.Cursor.StreamCursor
}
