package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const measuredAgents = `agents:
  demo:
    model:
      provider: scripted
      turns: [{text: "Done.", usage: {inputTokens: 10, outputTokens: 5}}]
`

// TestMetrics_EachProgramSaysWhatItDid runs an execution and reads what the three programs have measured.
func TestMetrics_EachProgramSaysWhatItDid(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Config{Agents: measuredAgents, Tag: "none"})
	at := func() map[string]string { return map[string]string{"PAWL_ADMIN_ADDR": harness.FreeAddr(t)} }
	worker, reaper, side := at(), at(), at()
	api := s.API(side)
	s.Worker(worker)
	s.Reaper(reaper)
	api.AwaitState(api.Submit("demo", "hi").ID, endTimeout, execution.Completed)
	for address, lines := range map[string][]string{
		api.URL: {
			`pawl_executions{state="completed"} 1`, `pawl_workers{queue="default"} 1`, `pawl_workers_slots 50`,
			`pawl_http_request_seconds_count{method="POST",route="/v1/executions",status="202"} 1`,
		},
		"http://" + side["PAWL_ADMIN_ADDR"]: {`pawl_executions{state="completed"} 1`},
		"http://" + worker["PAWL_ADMIN_ADDR"]: {
			`pawl_executions_ended_total{agent="demo",state="completed"} 1`,
			`pawl_node_seconds_count{node="before_model_request",reached="yes"} 1`,
			`pawl_tokens_total{agent="demo",kind="input",model="scripted"} 10`,
			`pawl_model_request_seconds_count{agent="demo",code="ok",model="scripted"} 1`,
			`pawl_worker_slots 50`, `pawl_fenced_total 0`, `pawl_reclaims_total 0`,
		},
		"http://" + reaper["PAWL_ADMIN_ADDR"]: {
			`pawl_executions{state="running"} 0`, `pawl_reaper_entries_total{action="bad"} 0`, `pawl_reaper_errors_total 0`,
		},
	} {
		var page string
		harness.Eventually(t, endTimeout, address+" says what it did", func() bool {
			page = read(t, address+"/metrics")
			for _, line := range lines {
				if !containsLine(page, line) {
					return false
				}
			}
			return true
		})
	}
}

func containsLine(page, line string) bool {
	for at := range strings.SplitSeq(page, "\n") {
		if at == line {
			return true
		}
	}
	return false
}

func read(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode, url)
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(data)
}
