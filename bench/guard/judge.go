package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// tolerances are how much more of a unit is allowed, as a part of the whole: what happens by the clock falls into some runs.
// Units that are not named may grow, with a warning.
func tolerances() map[string]float64 {
	return map[string]float64{
		"trips/step": 0.005, "redisB/step": 0.005, "trips/submit": 0.005, "redisB/submit": 0.005,
		"allocs/op": 0.01, "B/op": 0.02,
	}
}

// change is a figure that differs for sure, or that is gone.
type change struct {
	benchmark, unit string
	before, now     float64
	gone            bool
}

func (c change) String() string {
	if c.gone {
		return fmt.Sprintf("%s: %s is not measured any more", c.benchmark, c.unit)
	}
	return fmt.Sprintf("%s: %s %.5g, was %.5g (%+.1f %%)", c.benchmark, c.unit, c.now, c.before, 100*(c.now/c.before-1))
}

// judge lets benchstat compare, prints what it says, and returns whether something is worse than it was.
func (s *settings) judge(ctx context.Context, out io.Writer, sides []*side) (worse bool, err error) {
	args := []string{"base=" + sides[0].output, "new=" + sides[1].output}
	table, err := output(ctx, "", s.benchstat, args...)
	if err != nil {
		return false, err
	}
	say(out, "%s", table)
	rows, err := output(ctx, "", s.benchstat, append([]string{"-format", "csv"}, args...)...)
	if err != nil {
		return false, err
	}
	compared, changes, err := parse(rows)
	if err != nil {
		return false, err
	}
	if compared == 0 {
		return false, errors.New("the two have no benchmark in common")
	}
	failed, warned := verdict(changes)
	for _, c := range warned {
		say(out, "warning: %v", c)
	}
	for _, c := range failed {
		say(out, "WORSE: %v", c)
	}
	if len(failed) == 0 {
		say(out, "No more round trips, bytes or allocations than before.")
	}
	return len(failed) > 0, nil
}

// say prints a line for a person.
func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...) // the exit code says the same
}

// parse reads benchstat's CSV: a table for each unit, of which each row is a benchmark. Only changes that are significant
// are returned, and what the new side lacks.
func parse(text string) (compared int, changes []change, err error) {
	reader := csv.NewReader(strings.NewReader(text))
	reader.FieldsPerRecord = -1
	unit := ""
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return compared, changes, nil
		}
		if err != nil {
			return compared, changes, fmt.Errorf("read what benchstat says: %w", err)
		}
		switch {
		case len(row) > 2 && row[0] == "" && row[2] == "CI":
			unit = row[1]
		case len(row) < 2 || row[0] == "" || row[0] == "geomean" || unit == "":
		case len(row) < 4 || row[3] == "":
			changes = append(changes, change{benchmark: row[0], unit: unit, gone: true})
		case row[1] == "" || len(row) < 6:
			// new: there is nothing to compare it with
		default:
			compared++
			if row[5] == "~" {
				continue
			}
			c := change{benchmark: row[0], unit: unit}
			var errs [2]error
			c.before, errs[0] = strconv.ParseFloat(row[1], 64)
			c.now, errs[1] = strconv.ParseFloat(row[3], 64)
			if err := errors.Join(errs[:]...); err != nil {
				return compared, changes, fmt.Errorf("read what benchstat says of %s: %w", row[0], err)
			}
			changes = append(changes, c)
		}
	}
}

// verdict parts the changes for the worse into those that fail and those that warn.
func verdict(changes []change) (failed, warned []change) {
	allowed := tolerances()
	for _, c := range changes {
		tolerance, hard := allowed[c.unit]
		switch {
		case c.gone, !hard && c.now > c.before:
			warned = append(warned, c)
		case hard && c.now > c.before*(1+tolerance):
			failed = append(failed, c)
		}
	}
	return failed, warned
}
