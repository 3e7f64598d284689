package main_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/harness"
	"github.com/pawl-run/pawl/test/modelserver"
	"github.com/pawl-run/pawl/test/scenario"
)

// Cases E2 and E4: whatever a turn left behind (results, errors, a rejected call, a call that a cancel left unanswered),
// the request of the next turn keeps the rules of each provider. The server answers 400 to one that does not.
func TestCaseE4_EveryTurnBehindAToolIsWellFormedForEachProvider(t *testing.T) {
	t.Parallel()
	models := modelserver.New(t, scenario.Answer)
	tools := harness.Tools(t)
	scenario.Prepare(tools)
	agents := map[string][2]string{
		"openai": {"openai", models.URL + "/v1"}, "deepseek": {"openai", models.URL + "/deepseek/v1"},
		"kimi": {"openai", models.URL + "/kimi/v1"}, "anthropic": {"anthropic", models.URL},
	}
	file := "agents:"
	for name, model := range agents {
		file += scenario.Agent(name, model[0], model[1])
	}
	stack := harness.New(t, harness.Config{
		Agents: strings.ReplaceAll(file, "$TOOLS", tools.URL), Tag: "none", Env: map[string]string{"TEST_MODEL_KEY": "sk-canary-0123456789"},
	})
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	t.Run("played", func(t *testing.T) {
		for name := range agents {
			for _, s := range scenario.All() {
				t.Run(name+": "+s.Name+", and a second turn", func(t *testing.T) {
					t.Parallel()
					s.Play(t, scenario.Cast{API: api.For(t), Tools: tools, Agent: name})
				})
			}
		}
	})
	models.CheckAccepted(t)
	require.NotEmpty(t, models.Exchanges())
}
