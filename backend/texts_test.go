package backend_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// exactTexts are the texts that stores, clients and people compare, as the package's constants spell them.
func exactTexts() []string {
	return []string{
		"none", "cooperative_token", "remote_abort", "cooperative_token_and_remote_abort",
		"in_process_state", "remote_state", "input", "auth", "input_and_auth",
		"full_transcript", "incremental_user_messages_with_remote_state", "single_prompt", "text", "text_and_artifacts",
		"decisions", "overrides", "frontend_tools", "continuation", "delegate_persistence",
		"ephemeral", "disabled",
		"agent '%s' backend does not support: %s", ", ",
		"backend does not support root execution", "backend does not support delegated execution",
		"local root execution requires a phase runtime context",
		"agent not found: ", "execution failed: ", "remote error: ", "failed to build backend '%s': %v",
		"completed", "waiting_input", "waiting_auth", "suspended", "failed", "canceled", "timeout", ": ",
		"input_required", "user_input_required", "auth_required", "error", "awaiting_tasks", "rate_limit", "manual_pause",
		"natural", "behavior_requested", "stopped:", "blocked:", "created", "running", "waiting", "done",
		"tool_permission", "user_input", "background_tasks", "external_event",
		"run_start", "step_start", "text_delta", "inference_complete", "step_end", "run_finish",
		"__runtime_backend_output",
		"agent_run_", "delegate_run:", "delegate_tool:", "use_decision_as_tool_result", "a2a",
	}
}

// A text that is written twice can be changed in one place only, and one that no test spells out can be changed unseen.
func TestEachExactTextIsOneConstantAndIsComparedLiterally(t *testing.T) {
	t.Parallel()
	constants, everywhere := map[string]int{}, map[string]int{}
	for _, file := range parsed(t, false) {
		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if ok && general.Tok == token.IMPORT {
				continue
			}
			literals(t, declaration, func(text string) {
				everywhere[text]++
				if ok && general.Tok == token.CONST {
					constants[text]++
				}
			})
		}
	}
	compared := comparedTexts(t)
	for _, text := range exactTexts() {
		require.Equal(t, 1, constants[text], "constants that say %q", text)
		require.Equal(t, 1, everywhere[text], "literals that say %q", text)
		require.True(t, spelledOut(compared, text), "no test compares %q", text)
	}
}

// comparedTexts are the literals of the tests, those of exactTexts left out.
func comparedTexts(t *testing.T) []string {
	t.Helper()
	var texts []string
	for _, file := range parsed(t, true) {
		for _, declaration := range file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if ok && function.Name.Name != "exactTexts" {
				literals(t, declaration, func(text string) { texts = append(texts, text) })
			}
		}
	}
	return texts
}

var verbs = regexp.MustCompile(`%[sv]`)

// spelledOut reports whether one of the literals holds every piece of the text between its verbs.
func spelledOut(literals []string, text string) bool {
	for _, literal := range literals {
		all := true
		for _, piece := range verbs.Split(text, -1) {
			all = all && strings.Contains(literal, piece)
		}
		if all {
			return true
		}
	}
	return false
}

// literals calls visit with each string literal that is no tag of a field and no part of a log record.
func literals(t *testing.T, node ast.Node, visit func(text string)) {
	t.Helper()
	tags := map[*ast.BasicLit]bool{}
	ast.Inspect(node, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Field:
			tags[n.Tag] = true
		case *ast.CallExpr:
			if call, ok := n.Fun.(*ast.SelectorExpr); ok && call.Sel.Name == "WarnContext" {
				return false
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && !tags[n] {
				text, err := strconv.Unquote(n.Value)
				require.NoError(t, err)
				visit(text)
			}
		}
		return true
	})
}
