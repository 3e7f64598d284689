package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

// Bounds of a tree that is shown: how deep, and how many executions are asked for their children.
const (
	treeDepth = 5
	treeAsked = 100
)

// tree collects an execution's children, and theirs.
type tree struct {
	api   remote
	asked int
	lines [][]string
}

// tellTree shows the children of an execution, each with its own below it. What cannot be read is left out: it may have been
// deleted meanwhile.
func tellTree(ctx context.Context, s streams, api remote, view execution.View) error {
	if len(view.Children) == 0 {
		return nil
	}
	t := &tree{api: api}
	t.grow(ctx, view.Children, 0)
	table := new(table)
	for _, line := range t.lines {
		table.row(line...)
	}
	if err := say(s.out, "\nchildren"); err != nil {
		return err
	}
	if err := table.flush(s.out); err != nil {
		return fail("%w", err)
	}
	if t.asked >= treeAsked {
		return say(s.out, fmt.Sprintf("and more: no more than %d executions are asked for their children", treeAsked))
	}
	return nil
}

func (t *tree) grow(ctx context.Context, children []execution.Child, depth int) {
	for _, child := range children {
		state := string(child.State)
		if state == "" {
			state = "deleted"
		}
		t.lines = append(t.lines, []string{strings.Repeat("  ", depth+1) + string(child.Call), string(child.ID), oneLine(child.Agent), state})
		if child.State == "" || depth+1 >= treeDepth || t.asked >= treeAsked {
			continue
		}
		t.asked++
		if view, err := t.api.Execution(ctx, child.ID); err == nil {
			t.grow(ctx, view.Children, depth+1)
		}
	}
}
