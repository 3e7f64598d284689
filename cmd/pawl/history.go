package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// pageOfHistory is how many messages or checkpoints are asked for at once.
const pageOfHistory = 100

func newMessages(s streams, dial dialer) *cobra.Command {
	var from, limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "messages ID", Short: "Print the history that the model sees", Args: cobra.ExactArgs(1),
		Long: "Print the history of an execution as its model sees it, oldest first, with what earlier executions of its\n" +
			"conversation said. Long arguments and results are cut.\n\n" +
			"With --json each message is a line of JSON, whole: {index, role, text?, parts?, toolCalls?, toolResult?, …}.",
		Example: asTyped(self(), "  pawl messages exec_07…\n  pawl messages --from 40 --json exec_07…"),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			if err := checkPage(from, limit); err != nil {
				return err
			}
			return turn(limit, func(size int) (int, bool, error) {
				page, err := to.api.Messages(ctx, to.id, from, size)
				if err != nil {
					return 0, false, to.explain(ctx, err)
				}
				from = page.NextFrom
				for _, message := range page.Messages {
					if err := tellMessage(s, message, asJSON); err != nil {
						return 0, false, err
					}
				}
				return len(page.Messages), page.HasMore, nil
			})
		}),
	}
	cmd.Flags().IntVar(&from, "from", 0, "the index of the first one")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many at most (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one message per line")
	return cmd
}

func newCheckpoints(s streams, dial dialer) *cobra.Command {
	var from, limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use: "checkpoints ID", Short: "List the steps of an execution", Args: cobra.ExactArgs(1),
		Long: "List the checkpoints of an execution, one per step: when it was written, how long the work that led to it took\n" +
			"(without the time in the queue), what was spent and how many messages its history had by then. FORK says whether\n" +
			"the execution can be forked from it.\n\n" +
			"With --json each is a line of JSON: {step, node, turn, usage, evidence, forkable, committedAtMs, claimedAtMs?}.",
		Example: asTyped(self(), "  pawl checkpoints exec_07…\n  pawl fork exec_07… --step 4"),
		RunE: onExecution(dial, func(ctx context.Context, to target, _ []string) error {
			if err := checkPage(from, limit); err != nil {
				return err
			}
			next, told := execution.Step(from), checkpointsTold{s: s, asJSON: asJSON}
			if !asJSON {
				told.row("STEP", "NODE", "TURN", "STATUS", "WRITTEN", "TOOK", "REQUESTS", "TOKENS", "MESSAGES", "FORK")
			}
			return turn(limit, func(size int) (int, bool, error) {
				page, err := to.api.Checkpoints(ctx, to.id, next, size)
				if err != nil {
					return 0, false, to.explain(ctx, err)
				}
				next = page.NextFrom
				return len(page.Checkpoints), page.HasMore, told.tell(page.Checkpoints)
			})
		}),
	}
	cmd.Flags().IntVar(&from, "from", 0, "the step of the first one")
	cmd.Flags().IntVar(&limit, "limit", 0, "how many at most (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON: one checkpoint per line")
	return cmd
}

func checkPage(from, limit int) error {
	if from < 0 {
		return wrongUsage("--from: want a number, 0 or above, have %d", from)
	}
	if limit < 0 {
		return wrongUsage("--limit: want a number, 0 or above, have %d", limit)
	}
	return nil
}

// turn turns pages until limit is reached, 0 for none, or the last one was given.
func turn(limit int, page func(size int) (got int, more bool, err error)) error {
	for left := limit; ; {
		size := pageOfHistory
		if limit > 0 {
			size = min(size, left)
		}
		got, more, err := page(size)
		if err != nil || !more {
			return err
		}
		if left -= got; limit > 0 && left <= 0 {
			return nil
		}
	}
}

func tellMessage(s streams, message execution.HistoryMessage, asJSON bool) error {
	if asJSON {
		return sayJSON(s.out, message)
	}
	if _, err := io.WriteString(s.out, messageText(message)); err != nil {
		return fail("%w", err)
	}
	return nil
}

// messageText is a message as a head and indented lines.
func messageText(message execution.HistoryMessage) string {
	head := fmt.Sprintf("#%d %s", message.Index, message.Role)
	var body []string
	if result := message.ToolResult; result != nil {
		head += fmt.Sprintf("  %s  %s", result.Name, result.CallID)
		if result.IsError {
			head += "  failed: " + string(result.ErrorKind)
		}
		if len(result.Arguments) > 0 {
			body = append(body, "called with what a person gave: "+oneLine(string(result.Arguments)))
		}
		body = append(body, oneLine(string(result.Content)))
		if result.Blob != nil {
			body = append(body, fmt.Sprintf("(%d bytes, stored as %s)", result.Blob.Size, result.Blob.Hash))
		}
	}
	if message.Text != "" {
		body = append(body, strings.Split(clean(strings.TrimRight(message.Text, "\n")), "\n")...)
	}
	for _, part := range message.Parts {
		body = append(body, partText(part)...)
	}
	for _, call := range message.ToolCalls {
		body = append(body, fmt.Sprintf("calls %s  %s  %s", oneLine(call.Name), call.CallID, oneLine(string(call.Arguments))))
	}
	text := head + "\n"
	for _, line := range body {
		text += strings.TrimRight("  "+line, " ") + "\n"
	}
	return text
}

func partText(part execution.Part) []string {
	switch part.Type {
	case execution.PartText:
		return strings.Split(clean(part.Text), "\n")
	case execution.PartImage:
		return []string{fmt.Sprintf("[%s, %d bytes of base64]", oneLine(part.MediaType), len(part.Data))}
	default:
		return []string{fmt.Sprintf("[%s %s]", oneLine(string(part.Type)), oneLine(part.URL))}
	}
}

// checkpointsTold prints checkpoints, page by page.
type checkpointsTold struct {
	table
	s      streams
	asJSON bool
	lastMs int64 // when the last one was written, 0: there was none
}

func (t *checkpointsTold) tell(checkpoints []execution.Checkpoint) error {
	for _, c := range checkpoints {
		if t.asJSON {
			if err := sayJSON(t.s.out, c); err != nil {
				return err
			}
			continue
		}
		forkable := ""
		if c.Forkable {
			forkable = "yes"
		}
		var evidence struct {
			Status string `json:"status"`
			Cursor struct {
				Messages int `json:"messageCursor"`
			} `json:"cursor"`
		}
		_ = json.Unmarshal(c.Evidence, &evidence) // of a later release it may say other things
		t.row(fmt.Sprint(c.Step), oneLine(c.Node), fmt.Sprint(c.Turn), oneLine(evidence.Status), written(c.CommittedAtMs), t.took(c),
			fmt.Sprint(c.Usage.Requests), fmt.Sprint(c.Usage.TotalTokens), fmt.Sprint(evidence.Cursor.Messages), forkable)
		t.lastMs = c.CommittedAtMs
	}
	if err := t.flush(t.s.out); err != nil {
		return fail("%w", err)
	}
	return nil
}

// took is how long the work took that led to a checkpoint: empty when no worker wrote it, and of the first one that is told,
// since the time of the one in front of it is not known.
func (t *checkpointsTold) took(c execution.Checkpoint) string {
	if c.ClaimedAtMs == 0 || t.lastMs == 0 {
		return ""
	}
	return fmt.Sprint(time.Duration(max(0, c.CommittedAtMs-max(c.ClaimedAtMs, t.lastMs))) * time.Millisecond)
}
