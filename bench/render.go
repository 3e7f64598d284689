package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Table writes the report as Markdown.
func (r *Report) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d CPUs, load average %s at the beginning. %s %s, %s. Pawl %s. ",
		r.Build.Platform, r.CPUs, r.Load, r.Redis.Server, r.Redis.Version, r.fsync(), r.revision())
	fmt.Fprintf(&b, "%s, %v each; %d at once, %d under way; %d turns with a tool call of %d bytes.\n",
		pairs(r.Pairs), r.Duration, r.Concurrency, r.Chains, r.Turns, r.ResultBytes)
	r.goalTable(&b)
	for _, result := range r.Results {
		fmt.Fprintf(&b, "\n### %s\n\n`%s`: %s, took %v; %s; load average %s; Pawl %s.\n\n", result.Title, result.Name,
			result.Began.UTC().Format("2006-01-02 15:04 MST"), result.Took.Round(time.Second), pairs(result.Pairs), result.Load,
			result.Revision)
		if result.Command != "" {
			fmt.Fprintf(&b, "```sh\n%s\n```\n\n", result.Command)
		}
		b.WriteString("| | median | lowest to highest | goal | |\n|---|---:|---:|---:|---|\n")
		for _, m := range result.Metrics {
			goal, met := goalOf(m)
			low, high := quantile(m.Samples, 0), quantile(m.Samples, 1)
			fmt.Fprintf(&b, "| %s | %s | %s to %s | %s | %s |\n", m.Name, withUnit(m.Median, m.Unit), figure(low), figure(high), goal, met)
		}
		for _, note := range result.Notes {
			fmt.Fprintf(&b, "\n%s\n", note)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) fsync() string {
	if r.Redis.AppendOnly == "yes" {
		return "append-only file, appendfsync " + r.Redis.AppendFsync
	}
	return "no append-only file"
}

func (r *Report) revision() string {
	if r.Build.Revision == "" {
		return r.Build.Version
	}
	revision := r.Build.Revision[:min(12, len(r.Build.Revision))]
	if r.Build.Modified {
		revision += " with changes"
	}
	return revision
}

func pairs(n int) string {
	if n == 1 {
		return "1 pair"
	}
	return fmt.Sprintf("%d interleaved pairs", n)
}

func goalOf(m Metric) (goal, met string) {
	if m.Goal == nil {
		return "", ""
	}
	sign, word := "≥", "missed"
	if m.Goal.AtMost {
		sign = "≤"
	}
	if m.Met() {
		word = "met"
	}
	return sign + " " + figure(m.Goal.Value), word
}

func withUnit(value float64, unit string) string {
	text := figure(value)
	switch unit {
	case "":
		return text
	case "1/s":
		return text + "/s"
	default:
		return text + " " + unit
	}
}

// figure shows three significant digits and whole numbers from 100 on.
func figure(value float64) string {
	switch abs := math.Abs(value); {
	case abs >= 1000:
		return thousands(int64(math.Round(value)))
	case abs >= 100 || abs == 0:
		return fmt.Sprintf("%.0f", value)
	case abs >= 10:
		return fmt.Sprintf("%.1f", value)
	case abs >= 1:
		return fmt.Sprintf("%.2f", value)
	default:
		return fmt.Sprintf("%.3f", value)
	}
}

func thousands(n int64) string {
	if n < 0 {
		return "-" + thousands(-n)
	}
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
