package agent_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

// The golden text and hash are what running executions of earlier releases refer to: a change here strands them.
func TestCanonicalFormIsPinned(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(complete))
	require.NoError(t, err)
	full, _ := catalog.Agent("full")
	golden, err := os.ReadFile("testdata/full.json")
	require.NoError(t, err)
	require.Equal(t, string(golden), string(full.Canonical())+"\n")
	require.Equal(t, "4a533940fa6e49e7b38ef7d603b221a659f0751f18189d455a7b10d3ccbc4e23", full.Hash())

	read, err := agent.Decode(full.Canonical())
	require.NoError(t, err)
	require.Equal(t, full, read)
	require.Equal(t, full.Hash(), read.Hash())
}

func TestHashIgnoresHowTheFileIsWritten(t *testing.T) {
	t.Parallel()
	parse := func(text string) string {
		catalog, err := agent.Parse("agents.yaml", []byte(text))
		require.NoError(t, err)
		definition, _ := catalog.Agent("a")
		return definition.Hash()
	}
	first := parse("agents: {a: {model: {provider: scripted, turns: [{toolCalls: [{name: x, arguments: {p: 1, q: 2}}]}]}}}")
	require.Equal(t, first, parse(`# the same
agents:
  a:
    backend: local
    outputRetries: 1
    model:
      turns:
        - toolCalls:
            - arguments: {q: 2, p: 1}
              name: x
      provider: scripted
`))
	require.NotEqual(t, first,
		parse("agents: {a: {model: {provider: scripted, turns: [{toolCalls: [{name: x, arguments: {p: 1, q: 3}}]}]}}}"))
}

func TestSecretsStayReferences(t *testing.T) {
	t.Parallel()
	catalog, err := agent.Parse("agents.yaml", []byte(complete))
	require.NoError(t, err)
	full, _ := catalog.Agent("full")
	require.Contains(t, string(full.Canonical()), "Bearer ${TOKEN}")
}

func TestDecodeRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"name":"a","color":"red"}`:          "color",
		`{"name":"a","limits":{"maxWait":1}}`: "maxWait",
		`{"name":"a"} {}`:                     "trailing bytes",
		`{"name":"a"}}`:                       "trailing bytes",
		`{}`:                                  "no name",
		`nonsense`:                            "decode agent definition",
	} {
		_, err := agent.Decode([]byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestDecodersOfWhatIsStoredRefuseTrailingBytes(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}}`, `{}]`, `{} {}`, `{} x`} {
		_, err := agent.DecodeRoster([]byte(text))
		require.ErrorContains(t, err, "trailing bytes", text)
		_, err = agent.DecodeAdjustments([]byte(text))
		require.ErrorContains(t, err, "trailing bytes", text)
	}
}

func TestCanonicalSortsRawJSON(t *testing.T) {
	t.Parallel()
	a := &agent.Definition{Name: "a", OutputSchema: json.RawMessage(`{"b": 1.0, "a": [ "<" ]}`)}
	b := &agent.Definition{Name: "a", OutputSchema: json.RawMessage(`{"a":["<"],"b":1.0}`)}
	require.Equal(t, a.Hash(), b.Hash())
	require.Contains(t, string(a.Canonical()), `{"a":["<"],"b":1.0}`)
}

func TestResolve(t *testing.T) {
	t.Parallel()
	lookup := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "1", "LONG_2": "two ${A}", "EMPTY": ""}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"": "", "plain $5 {A}": "plain $5 {A}", "${A}": "1", "x${A}y${EMPTY}z${A}": "x1yz1", "${LONG_2}": "two ${A}",
	} {
		got, err := agent.Resolve(text, lookup)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := agent.Resolve("secret ${A} ${NOT_SET}", lookup)
	require.EqualError(t, err, "the environment variable NOT_SET is not set")
	for _, text := range []string{"${", "${A", "${}", "${1}", "${a b}", "secret ${ A}"} {
		_, err := agent.Resolve(text, lookup)
		require.ErrorContains(t, err, "malformed reference", text)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestNewCatalogRefusesNamesThatClash(t *testing.T) {
	t.Parallel()
	_, err := agent.NewCatalog(&agent.Definition{Name: "a"}, &agent.Definition{Name: "a"})
	require.ErrorContains(t, err, `"a" is there twice`)
	_, err = agent.NewCatalog(&agent.Definition{})
	require.ErrorContains(t, err, "no name")
}
