package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/app"
)

const checkHelp = `Read an agent file as the programs do: every mistake is told as file:line: key: message, else what the file holds.
Without FILE it is the one that PAWL_AGENTS names.

--probe also asks MCP servers for their tools (it starts those that a command starts), the endpoints of models whether they
are there, and remote agents for their cards. It calls no tool, no model and no agent.

Exit codes: 0 all is well, 1 the file has mistakes or a probe failed, 2 wrong usage, 5 the file cannot be read.`

func newAgents(s streams, dial dialer) *cobra.Command {
	cmd := &cobra.Command{
		Use: "agents", Short: "List agents and check their files", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAgentsList(s, dial), newAgentsCheck(s), newAgentsSchema(s))
	return cmd
}

func newAgentsSchema(s streams) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of agent files, for editors", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if _, err := s.out.Write(app.AgentsSchema()); err != nil {
				return fail("%w", err)
			}
			return nil
		},
	}
}

func newAgentsCheck(s streams) *cobra.Command {
	var check app.AgentsCheck
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [FILE]", Short: "Read an agent file and say what is in it", Long: checkHelp, Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			check.File = os.Getenv("PAWL_AGENTS")
			if len(args) == 1 {
				check.File = args[0]
			}
			if check.File == "" {
				return wrongUsage("name a file, or set PAWL_AGENTS\nUsage: %s", cmd.UseLine())
			}
			report, err := app.CheckAgents(cmd.Context(), check)
			if err != nil {
				return fail("%w", err)
			}
			return tellReport(s, report, asJSON)
		},
	}
	cmd.Flags().BoolVar(&check.Probe, "probe", false, "ask MCP servers, the endpoints of models and remote agents")
	cmd.Flags().DurationVar(&check.Timeout, "timeout", 10*time.Second, "how long each probe may take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tellReport prints the report. Mistakes go to standard error, as a compiler's do.
func tellReport(s streams, report app.AgentsReport, asJSON bool) error {
	var err error
	switch {
	case asJSON:
		var data []byte
		if data, err = json.MarshalIndent(report, "", "  "); err == nil {
			err = say(s.out, string(data))
		}
	case len(report.Problems) > 0:
		err = tellProblems(s, report)
	default:
		err = say(s.out, strings.TrimRight(reportText(report), "\n"))
	}
	if err != nil {
		return fail("%w", err)
	}
	if !report.OK {
		return &exit{code: exitFailed}
	}
	return nil
}

func tellProblems(s streams, report app.AgentsReport) error {
	var text strings.Builder
	for _, p := range report.Problems {
		text.WriteString(p.String() + "\n")
	}
	if report.More > 0 {
		fmt.Fprintf(&text, "and %d more\n", report.More)
	}
	_, err := s.err.Write([]byte(clean(text.String())))
	return err
}

// reportText is the report of a file without mistakes.
func reportText(report app.AgentsReport) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s, no mistakes\n", report.File, counted(len(report.Agents), "agent"))
	for _, a := range report.Agents {
		fmt.Fprintf(&text, "\n%s\n", a.Name)
		if a.Endpoint != nil {
			fmt.Fprintf(&text, "  %-6s %s%s\n", a.Backend, a.Endpoint.About, probeText(a.Endpoint.Probe))
		}
		for i, model := range a.Models {
			word := "model"
			if i > 0 {
				word = "or"
			}
			fmt.Fprintf(&text, "  %-6s %s%s\n", word, model.About, probeText(model.Probe))
		}
		if a.Publish != nil {
			fmt.Fprintf(&text, "  %-6s %s\n", "shown", publishText(*a.Publish))
		}
		for _, tool := range a.Tools {
			fmt.Fprintf(&text, "  %-6s %s: %s%s\n", "tool", tool.Name, toolText(tool), probeText(tool.Probe))
			for _, given := range tool.Gives {
				fmt.Fprintf(&text, "         - %s %s\n", given.Name, given.Recovery)
			}
		}
	}
	if len(report.Environment) > 0 {
		text.WriteString("\nenvironment of whoever runs this command; workers take theirs\n")
	}
	for _, v := range report.Environment {
		set := "set"
		if !v.Set {
			set = "NOT SET"
		}
		fmt.Fprintf(&text, "  %s  %s  (%s)\n", v.Name, set, strings.Join(v.Used, ", "))
	}
	return clean(text.String())
}

// publishText says how other agents see an agent.
func publishText(p app.CheckedPublish) string {
	text := "to other agents as " + p.Name
	if len(p.Skills) > 0 {
		text += ", skills " + strings.Join(p.Skills, ", ")
	}
	return text
}

func toolText(tool app.CheckedTool) string {
	text := strings.Join(strings.Fields(strings.Join([]string{tool.Type, tool.Recovery, tool.About}, " ")), " ")
	if tool.Auth != "" {
		text += ", auth " + tool.Auth
	}
	if tool.Approval != "" {
		text += ", approval " + tool.Approval
	}
	for _, name := range slices.Sorted(maps.Keys(tool.Approvals)) {
		text += ", approval of " + name + " " + tool.Approvals[name]
	}
	return text
}

func probeText(p *app.Probed) string {
	switch {
	case p == nil:
		return ""
	case p.OK:
		return fmt.Sprintf("  [%s, %d ms]", p.Message, p.TookMs)
	default:
		return fmt.Sprintf("  [FAILED: %s]", p.Message)
	}
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
