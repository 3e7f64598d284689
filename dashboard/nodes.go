package dashboard

import (
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// nodes are the bars of the nodes between the checkpoints, and a thin one in front of each that had to wait for a worker.
// Boundaries that were written at once are the ends of one bar.
func nodes(steps []execution.Checkpoint) []bar {
	var bars []bar
	for first := 0; first < len(steps); {
		last := first
		for last+1 < len(steps) && steps[last+1].CommittedAtMs == steps[first].CommittedAtMs {
			last++
		}
		if first > 0 {
			if start, known := lasted(steps[first-1], steps[first]); known {
				if start > steps[first-1].CommittedAtMs {
					bars = append(bars, pause(steps[first-1], start))
				}
				bars = append(bars, nodeBar(steps[first-1:last], start, steps[first].CommittedAtMs))
			}
		}
		first = last + 1
	}
	return bars
}

// nodeBar is the bar of the nodes that ran behind those checkpoints and were committed at once.
func nodeBar(ran []execution.Checkpoint, start, end int64) bar {
	names := make([]string, len(ran))
	for i, one := range ran {
		names[i] = words(one.Node)
	}
	b := bar{
		Kind: "node", Label: names[0], Short: shortNode(ran[0].Node), Name: strings.Join(names, ", "), start: start, end: end,
		Title: fmt.Sprintf("behind step %d", ran[0].Step),
	}
	if n := len(ran); n > 1 {
		b.Title = fmt.Sprintf("behind steps %d to %d, written at once", ran[0].Step, ran[n-1].Step)
	}
	return b
}

// pause is a thin bar from a checkpoint on, up to the claim under which the node behind it was committed.
func pause(before execution.Checkpoint, end int64) bar {
	return bar{
		Kind: "pause", Name: "in the queue, waiting, or tried in vain", Title: fmt.Sprintf("behind step %d", before.Step),
		start: before.CommittedAtMs, end: end,
	}
}

// openNode is what goes on behind the newest checkpoint: its node while somebody holds the execution. Since when is not
// known to whoever looks, so it begins with the checkpoint.
func openNode(newest execution.Checkpoint, held bool) bar {
	b := pause(newest, -1)
	if held {
		b = nodeBar([]execution.Checkpoint{newest}, newest.CommittedAtMs, -1)
		b.Title += ", its time in the queue included"
	}
	return b
}

// clip gives the bars their part between two instants, without those that have none.
func clip(bars []bar, from, to int64) []bar {
	kept := bars[:0]
	for _, b := range bars {
		if b.end < 0 {
			b.end, b.Open = to, true
		}
		if b.end < from || b.start > to {
			continue
		}
		b.from, b.took = b.start, b.end-b.start
		b.start, b.end = max(b.start, from), min(b.end, to)
		kept = append(kept, b)
	}
	return kept
}

// shortNode is a name for a narrow bar.
func shortNode(node string) string {
	switch node {
	case "run_start":
		return "start"
	case "prepare_model_request":
		return "prepare"
	case "before_model_request":
		return "request"
	case "model_response":
		return "response"
	case "tool_call":
		return "tools"
	case "tool_return":
		return "results"
	case "validate_output":
		return "validate"
	default:
		return words(node)
	}
}
