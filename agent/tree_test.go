package agent_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

const smallest = "agents:\n  demo:\n    model: {provider: scripted, turns: [{text: x}]}\n"

func TestAFileMayBeginAsYAMLFilesDo(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{
		"a byte order mark": "\uFEFF", "a directive": "%YAML 1.2\n---\n", "a mark of its beginning": "---\n", "a comment": "# Agents.\n",
		"a mark and a comment": "\uFEFF# Agents.\n---\n",
	} {
		catalog, err := agent.Parse("agents.yaml", []byte(begin+smallest))
		require.NoError(t, err, name)
		require.Equal(t, []string{"demo"}, catalog.Names(), name)
	}
	_, err := agent.Parse("agents.yaml", []byte("%YAML 1.2\n---\n"+smallest+"---\n"+smallest))
	require.ErrorContains(t, err, "a second YAML document")
}

// TestAKeyIsWhatItSays: one that is read as something else would be a property or a header that nobody meant.
func TestAKeyIsWhatItSays(t *testing.T) {
	t.Parallel()
	with := func(key string) string {
		return smallest + "    outputSchema:\n      type: object\n      title: &t here\n      properties:\n        " + key + " {type: string}\n"
	}
	for name, key := range map[string]string{
		"an anchor": "&a city:", "an alias": "*t :", "a tag": "!!str city:", "a question mark": "? |\n          city\n        :",
	} {
		_, err := agent.Parse("agents.yaml", []byte(with(key)))
		require.ErrorContains(t, err, "agents.demo.outputSchema.properties: a key must be text", name)
	}
	for _, key := range []string{"city:", "'city':", "12:", "1.5:", "true:", "null:", `"a b":`} {
		_, err := agent.Parse("agents.yaml", []byte(with(key)))
		require.NoError(t, err, key)
	}
}
