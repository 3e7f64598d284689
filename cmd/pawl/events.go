package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/execution"
)

// eventsRequest is what the flags of `pawl events` say.
type eventsRequest struct {
	types []string
	since string
	json  bool
}

func newEvents(s streams, dial dialer) *cobra.Command {
	var asked eventsRequest
	cmd := &cobra.Command{
		Use: "events", Short: "Follow the events of all executions", Args: cobra.NoArgs,
		Long: "Follow the events of the executions that you may see, from now on or from --since, until Ctrl-C: one line per event.\n" +
			"It survives restarts of the API and misses nothing. Frames, such as the pieces of answers, come only where --types\n" +
			"names their type (text_delta, tool_progress, agent_event).\n\n" +
			"With --json each is a line of JSON: {executionId, sequence, occurredAtMs, type, …}; a frame {executionId, type, step, …}.",
		Example: asTyped(self(), `  pawl events
  pawl events --types execution_failed,execution_suspended --since 1h --json`),
		RunE: func(cmd *cobra.Command, _ []string) error {
			since, err := sinceMs(asked.since, time.Now())
			if err != nil {
				return wrongUsage("--since: want a duration like 90m or an instant like 2026-01-31T08:00:00Z, have %q", asked.since)
			}
			if err := asked.check(); err != nil {
				return err
			}
			api, url, err := dial()
			if err != nil {
				return err
			}
			return asked.follow(cmd.Context(), s, api, url, since)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&asked.types, "types", nil, "only events and frames of these `TYPES`")
	flags.StringVar(&asked.since, "since", "", "begin with what happened since: 90m ago, or at an instant like 2026-01-31T08:00:00Z")
	flags.BoolVar(&asked.json, "json", false, "print JSON: one event per line")
	return cmd
}

// check refuses types that there are none of.
func (e *eventsRequest) check() error {
	var known []string
	for _, of := range execution.EventTypes() {
		known = append(known, string(of))
	}
	for _, of := range execution.FrameTypes() {
		known = append(known, string(of))
	}
	for _, wanted := range e.types {
		if !slices.Contains(known, wanted) {
			return wrongUsage("--types: want some of %s, have %q", strings.Join(known, ", "), wanted)
		}
	}
	return nil
}

func (e *eventsRequest) follow(ctx context.Context, s streams, api remote, url string, sinceMs int64) error {
	var since time.Time
	if sinceMs != 0 {
		since = time.UnixMilli(sinceMs)
	}
	for item, err := range api.WatchAll(ctx, since, e.types...) {
		if err != nil {
			return explain(ctx, url, err)
		}
		if item.Frame != nil && len(e.types) == 0 {
			continue
		}
		line := eventLine(item)
		if e.json {
			line = eventJSON(item)
		}
		if err := say(s.out, line); err != nil {
			return err
		}
	}
	return &exit{code: exitInterrupted}
}

func eventLine(item execution.StreamItem) string {
	if frame := item.Frame; frame != nil {
		return fmt.Sprintf("%-19s  %s  %-20s  %s", "", item.Execution, frame.Type, oneLine(frame.Text))
	}
	about := newRenderer(io.Discard, false, false).describe(*item.Event)
	line := fmt.Sprintf("%-19s  %s  %-20s", written(item.Event.OccurredAtMs), item.Execution, oneLine(string(item.Event.Payload.EventType())))
	if about == "" {
		return line
	}
	return line + "  " + about
}

// eventJSON is an event or a frame as the API's stream of everything has it.
func eventJSON(item execution.StreamItem) string {
	var said any = item.Frame
	if item.Event != nil {
		said = item.Event
	}
	data, err := json.Marshal(said)
	if err != nil || len(data) < 3 {
		return fmt.Sprintf(`{"executionId":%q}`, item.Execution)
	}
	return fmt.Sprintf(`{"executionId":%q,%s`, item.Execution, data[1:])
}
