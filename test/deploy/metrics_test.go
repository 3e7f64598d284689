package deploy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

// expressions are those of the alert rules, the dashboard and the adapter's rule, by where they stand.
func expressions(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	require.NoError(t, yaml.UnmarshalStrict(file(t, "deploy", "prometheus", "alerts.yaml"), &rules))
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			require.Contains(t, []string{"page", "ticket", "info"}, rule.Labels["severity"], rule.Alert)
			require.NotEmpty(t, rule.Annotations["summary"], rule.Alert)
			found["alert "+rule.Alert] = rule.Expr
		}
	}
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	require.NoError(t, json.Unmarshal(file(t, "deploy", "grafana", "pawl.json"), &board))
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			found["panel "+panel.Title+": "+target.Expr] = target.Expr
		}
	}
	return found
}

func file(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{root(t)}, path...)...))
	require.NoError(t, err)
	return data
}

// wanted is a series that an expression selects: its name, and the values of labels that it must have.
type wanted struct {
	name   string
	labels []*labels.Matcher
}

func selectors(t *testing.T, expression string) []wanted {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err, expression)
	var found []wanted
	for _, matchers := range parser.ExtractSelectors(parsed) {
		var one wanted
		for _, matcher := range matchers {
			if matcher.Name == model.MetricNameLabel {
				one.name = matcher.Value
			} else {
				one.labels = append(one.labels, matcher)
			}
		}
		found = append(found, one)
	}
	return found
}

// TestExpressions_AskForWhatIsMeasured parses every expression, and looks for each metric and each label in what real programs
// serve.
func TestExpressions_AskForWhatIsMeasured(t *testing.T) {
	t.Parallel()
	served := measured(t)
	all := expressions(t)
	require.Greater(t, len(all), 25)
	for where, expression := range all {
		for _, one := range selectors(t, expression) {
			series, known := served[one.name]
			require.True(t, known, "%s: nobody serves %s", where, one.name)
			for _, matcher := range one.labels {
				require.Contains(t, series, matcher.Name, "%s: %s has no such label", where, one.name)
			}
		}
	}
}

// TestAlerts_AreExplained holds docs/operations.md to the alert rules, both ways.
func TestAlerts_AreExplained(t *testing.T) {
	t.Parallel()
	page := string(file(t, "docs", "operations.md"))
	var alerts, explained []string
	for where := range expressions(t) {
		if name, is := strings.CutPrefix(where, "alert "); is {
			alerts = append(alerts, name)
		}
	}
	for _, match := range regexp.MustCompile("(?m)^\\| `(Pawl[A-Za-z]+)` \\|").FindAllStringSubmatch(page, -1) {
		explained = append(explained, match[1])
	}
	require.ElementsMatch(t, alerts, explained)
}

// TestMetrics_AreListed holds the table of docs/operations.md to what real programs serve, both ways.
func TestMetrics_AreListed(t *testing.T) {
	t.Parallel()
	var served, listed []string
	for name := range measured(t) {
		base := regexp.MustCompile(`_(bucket|count|sum)$`).ReplaceAllString(name, "")
		if strings.HasPrefix(base, "pawl_") && !strings.HasSuffix(name, "_count") && !strings.HasSuffix(name, "_sum") {
			served = append(served, base)
		}
	}
	page := string(file(t, "docs", "operations.md"))
	for _, match := range regexp.MustCompile("(?m)^\\| `(pawl_[a-z_]+)` \\|").FindAllStringSubmatch(page, -1) {
		listed = append(listed, match[1])
	}
	require.ElementsMatch(t, served, listed)
}

// measured runs the three programs and an execution with a tool call that costs something, and gathers what they serve: the
// labels of each series by its name.
func measured(t *testing.T) map[string]map[string]bool {
	t.Helper()
	s := harness.New(t, harness.Config{Tag: "none", Agents: `agents:
  demo:
    model:
      provider: scripted
      prices: {inputPer1M: 1, outputPer1M: 2, currency: EUR}
      turns:
        - toolCalls: [{name: confirm, arguments: {question: "Book it?"}}]
        - {text: "Booked.", usage: {inputTokens: 10, outputTokens: 5}}
    tools: [{name: confirm, type: human}]
  distant:
    backend: a2a
    endpoint: {url: "` + remoteAgent(t) + `"}
`})
	worker := map[string]string{"PAWL_ADMIN_ADDR": harness.FreeAddr(t)}
	reaper := map[string]string{"PAWL_ADMIN_ADDR": harness.FreeAddr(t)}
	api := s.API()
	s.Worker(worker)
	s.Reaper(reaper)
	view := api.Submit("demo", "hi")
	view = api.AwaitState(view.ID, startTimeout, execution.WaitingForInput)
	defer listen(t, api.URL+"/v1/executions/"+string(view.ID)+"/events")()
	api.Reply(view, "yes")
	api.AwaitState(view.ID, startTimeout, execution.Completed)
	api.AwaitState(api.Submit("distant", "hi").ID, startTimeout, execution.Completed)
	found := make(map[string]map[string]bool)
	for _, address := range []string{
		api.URL, "http://" + worker["PAWL_ADMIN_ADDR"], "http://" + reaper["PAWL_ADMIN_ADDR"],
	} {
		gather(t, address+"/metrics", found)
	}
	return found
}

// remoteAgent is the address of an agent that answers every message with one.
func remoteAgent(t *testing.T) string {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("GET /.well-known/agent-card.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"name": "distant", "protocolVersion": "0.3.0", "url": "%s/rpc"}`, server.URL)
	})
	mux.HandleFunc("POST /rpc", func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			ID json.RawMessage `json:"id"`
		}
		if json.NewDecoder(r.Body).Decode(&call) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc": "2.0", "id": %s, "result": {"kind": "message", "messageId": "m", "role": "agent", `+
			`"parts": [{"kind": "text", "text": "hello"}]}}`, call.ID)
	})
	return server.URL
}

// listen reads a stream: its gauge is there once somebody does.
func listen(t *testing.T, url string) (stop func()) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	return func() { _ = response.Body.Close() }
}

func gather(t *testing.T, url string, into map[string]map[string]bool) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	line := regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)
	name := regexp.MustCompile(`([a-z_]+)="`)
	for text := range strings.SplitSeq(string(data), "\n") {
		match := line.FindStringSubmatch(text)
		if match == nil {
			continue
		}
		if into[match[1]] == nil {
			into[match[1]] = make(map[string]bool)
		}
		for _, label := range name.FindAllStringSubmatch(match[2], -1) {
			into[match[1]][label[1]] = true
		}
	}
}
