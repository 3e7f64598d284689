package agent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/execution"
)

// The case's own text begins in line 4.
const remoteLines = "agents:\n  demo:\n    backend: a2a\n"

func remote(t *testing.T, text string) *agent.Definition {
	t.Helper()
	catalog, err := agent.Parse("f.yaml", []byte(remoteLines+text))
	require.NoError(t, err)
	definition, ok := catalog.Agent("demo")
	require.True(t, ok)
	return definition
}

func TestRemoteAgentsHaveTheirDefaults(t *testing.T) {
	t.Parallel()
	d := remote(t, "    endpoint: {url: \"https://a.example/x\"}\n")
	require.True(t, d.Remote())
	require.Equal(t, &agent.Definition{Name: "demo", Backend: agent.BackendA2A, Endpoint: &agent.Endpoint{
		URL: "https://a.example/x", Timeout: 5 * time.Minute, RequestTimeout: time.Minute, Poll: 10 * time.Second,
	}}, d)
	d = remote(t, "    endpoint: {url: \"http://a\", stream: true}\n")
	require.Equal(t, 10*time.Second, d.Endpoint.Observe)
}

// The golden text is what running executions of earlier releases refer to.
func TestRemoteDefinitionsAreStoredWithoutSecrets(t *testing.T) {
	t.Parallel()
	d := remote(t, `    endpoint: {url: "https://${HOST}/", target: a/b, auth: {type: bearer, token: "${TOKEN}"}, timeout: 1h}
    limits: {deadline: 2h}
    queue: slow
`)
	require.Equal(t, `{"backend":"a2a","endpoint":{"auth":{"token":"${TOKEN}","type":"bearer"},"poll":10000000000,`+
		`"requestTimeout":60000000000,"target":"a/b","timeout":3600000000000,"url":"https://${HOST}/"},`+
		`"limits":{"deadlineMs":7200000},"name":"demo","outputRetries":0,"queue":"slow"}`, string(d.Canonical()))
	read, err := agent.Decode(d.Canonical())
	require.NoError(t, err)
	require.Equal(t, d, read)
	require.Equal(t, []agent.Reference{
		{Name: "HOST", Path: "agents.demo.endpoint.url"}, {Name: "TOKEN", Path: "agents.demo.endpoint.auth.token"},
	}, d.References())
}

func TestParseRefusesRemoteAgents(t *testing.T) {
	t.Parallel()
	const model = "model: {provider: scripted, turns: [{text: a}]}"
	endpoint := func(rest string) string { return "    endpoint: {url: \"http://a\", " + rest + "}\n" }
	for name, c := range map[string]struct{ text, want string }{
		"no endpoint":    {"    queue: a\n", "f.yaml:2: agents.demo.endpoint: is required by backend: a2a"},
		"text":           {"    endpoint: here\n", "f.yaml:4: agents.demo.endpoint: must be a mapping, not text"},
		"no url":         {"    endpoint: {}\n", "f.yaml:4: agents.demo.endpoint.url: is required"},
		"not http":       {"    endpoint: {url: \"ftp://a\"}\n", "f.yaml:4: agents.demo.endpoint.url: must be an absolute http or https URL"},
		"user":           {"    endpoint: {url: \"http://u:p@a\"}\n", "f.yaml:4: agents.demo.endpoint.url: must not hold a user or password"},
		"query":          {"    endpoint: {url: \"http://a/?k=v\"}\n", "f.yaml:4: agents.demo.endpoint.url: must not have a ? part"},
		"target up":      {endpoint("target: ../b"), "f.yaml:4: agents.demo.endpoint.target: must be 1 to 256 characters of A-Z a-z 0-9 . _ ~ -, with / between parts"},
		"target root":    {endpoint("target: /b"), "f.yaml:4: agents.demo.endpoint.target: must be"},
		"target percent": {endpoint("target: \"%2e%2e\""), "f.yaml:4: agents.demo.endpoint.target: must be"},
		"auth type":      {endpoint("auth: {type: basic, token: \"${A}\"}"), `f.yaml:4: agents.demo.endpoint.auth.type: must be one of bearer, api_key, not "basic"`},
		"auth no type":   {endpoint("auth: {token: \"${A}\"}"), "f.yaml:4: agents.demo.endpoint.auth.type: is required"},
		"auth no token":  {endpoint("auth: {type: bearer}"), "f.yaml:4: agents.demo.endpoint.auth.token: is required"},
		"auth secret":    {endpoint("auth: {type: bearer, token: abc}"), "f.yaml:4: agents.demo.endpoint.auth.token: must be a reference such as ${AGENT_TOKEN}"},
		"auth header":    {endpoint("auth: {type: bearer, token: \"${A}\", header: X}"), "f.yaml:4: agents.demo.endpoint.auth.header: does not belong here: only type: api_key has it"},
		"key no header":  {endpoint("auth: {type: api_key, token: \"${A}\"}"), "f.yaml:4: agents.demo.endpoint.auth.header: is required"},
		"key header":     {endpoint("auth: {type: api_key, token: \"${A}\", header: \"a b\"}"), "f.yaml:4: agents.demo.endpoint.auth.header: is not a header's name"},
		"key own header": {endpoint("auth: {type: api_key, token: \"${A}\", header: content-type}"), "f.yaml:4: agents.demo.endpoint.auth.header: is set by Pawl"},
		"auth unknown":   {endpoint("auth: {type: bearer, token: \"${A}\", scope: x}"), "f.yaml:4: agents.demo.endpoint.auth.scope: unknown key; known are token, type"},
		"timeout":        {endpoint("timeout: 0s"), "f.yaml:4: agents.demo.endpoint.timeout: must be longer than 0"},
		"poll":           {endpoint("poll: 3"), "f.yaml:4: agents.demo.endpoint.poll: must be a duration such as 200ms, 30s or 24h, not a number"},
		"stream":         {endpoint("stream: yes please"), "f.yaml:4: agents.demo.endpoint.stream: must be true or false, not text"},
		"observe":        {endpoint("observe: 1s"), "f.yaml:4: agents.demo.endpoint.observe: does not belong here: it is how long stream: true watches"},
		"observe long":   {endpoint("stream: true, observe: 2m"), "f.yaml:4: agents.demo.endpoint.observe: must be at most 1m0s"},
		"unknown key":    {endpoint("path: x"), "f.yaml:4: agents.demo.endpoint.path: unknown key; known are auth, poll, requestTimeout, stream, target, timeout, url"},
		"model":          {endpoint("poll: 1s") + "    " + model + "\n", "f.yaml:5: agents.demo.model: does not belong here: an agent of the backend a2a is elsewhere, and has its own"},
		"instructions":   {endpoint("poll: 1s") + "    instructions: x\n", "f.yaml:5: agents.demo.instructions: does not belong here"},
		"tools":          {endpoint("poll: 1s") + "    tools: []\n", "f.yaml:5: agents.demo.tools: does not belong here"},
		"outputSchema":   {endpoint("poll: 1s") + "    outputSchema: {}\n", "f.yaml:5: agents.demo.outputSchema: does not belong here"},
		"outputRetries":  {endpoint("poll: 1s") + "    outputRetries: 1\n", "f.yaml:5: agents.demo.outputRetries: does not belong here"},
		"results":        {endpoint("poll: 1s") + "    results: {}\n", "f.yaml:5: agents.demo.results: does not belong here"},
		"limits":         {endpoint("poll: 1s") + "    limits: {maxTurns: 1}\n", "f.yaml:5: agents.demo.limits.maxTurns: does not belong here: a remote agent does not tell what it uses"},
		"limits unknown": {endpoint("poll: 1s") + "    limits: {max: 1}\n", "f.yaml:5: agents.demo.limits.max: unknown key; known are deadline"},
		"agent unknown":  {endpoint("poll: 1s") + "    color: red\n", "f.yaml:5: agents.demo.color: unknown key; known are backend, endpoint, limits, publish, queue, retention"},
		"later":          {endpoint("poll: 1s") + "    webhook: x\n", "f.yaml:5: agents.demo.webhook: is not supported by this version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, remoteLines+c.text, c.want)
		})
	}
}

func TestRemoteAgentsTakeNoOverrides(t *testing.T) {
	t.Parallel()
	d := remote(t, "    endpoint: {url: \"http://a\"}\n")
	same, err := d.With(execution.Overrides{})
	require.NoError(t, err)
	require.Same(t, d, same)
	for field, o := range map[string]execution.Overrides{
		"model":         {Model: "m"},
		"instructions":  {Instructions: "i"},
		"generation":    {Generation: &execution.Generation{MaxOutputTokens: 1}},
		"outputSchema":  {OutputSchema: json.RawMessage(`{}`)},
		"frontendTools": {FrontendTools: []execution.FrontendTool{{Name: "a"}}},
	} {
		_, err := d.With(o)
		var refusal *agent.OverrideError
		require.ErrorAs(t, err, &refusal, field)
		require.Equal(t, field, refusal.Field)
	}
}

func TestRemoteAgentsTakeNoLimitsButTheDeadline(t *testing.T) {
	t.Parallel()
	d := remote(t, "    endpoint: {url: \"http://a\"}\n")
	require.NoError(t, d.TakesLimits(execution.Limits{Deadline: time.Hour}))
	for field, limits := range map[string]execution.Limits{
		"limits.maxTurns": {MaxTurns: 1}, "limits.maxModelRequests": {MaxModelRequests: 1},
		"limits.maxToolCalls": {MaxToolCalls: 1}, "limits.maxInputTokens": {MaxInputTokens: 1},
		"limits.maxOutputTokens": {MaxOutputTokens: 1}, "limits.maxTotalTokens": {MaxTotalTokens: 1},
		"limits.maxCost": {MaxCost: 1}, "limits.suspendOnExceeded": {SuspendOnExceeded: true},
	} {
		var refusal *agent.OverrideError
		require.ErrorAs(t, d.TakesLimits(limits), &refusal, field)
		require.Equal(t, field, refusal.Field)
		require.NoError(t, (&agent.Definition{Name: "a", Backend: agent.BackendLocal}).TakesLimits(limits))
	}
}
