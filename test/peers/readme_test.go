//go:build peers

package peers_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// readmeFixtures are what the model answers to the README's question: it looks and reads at once, then it says what it read.
const readmeFixtures = `{"fixtures": [
	{"match": {"userMessage": "What is in notes.txt?", "hasToolResult": false}, "response": {"toolCalls": [
		{"name": "files_list_directory", "arguments": {"path": "."}},
		{"name": "files_read_text_file", "arguments": {"path": "notes.txt"}}]}},
	{"match": {"userMessage": "What is in notes.txt?", "hasToolResult": true}, "response": {"content": "It says: buy milk."}}
]}`

// The agent of the README, word for word but for the address of the model, runs on real processes and a real Redis. The
// published MCP server is the one that npx finds in the folder, so that the test needs no network.
func TestTheAgentOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	block := yamlBlock.FindStringSubmatch(string(readme))
	require.NotNil(t, block)
	require.Less(t, strings.Count(block[1], "\n"), 20, "it is short")
	fixtures := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(fixtures, []byte(readmeFixtures), 0o600))
	model := serve(t, "llmock", func(port string) []string { return []string{"--port", port, "--fixtures", fixtures, "--strict"} })
	const base = "https://api.openai.com/v1"
	require.Equal(t, 1, strings.Count(block[1], base))

	stack := harness.New(t, harness.Config{
		Agents: strings.ReplaceAll(block[1], base, model+"/v1"), Tag: "none", Env: map[string]string{"OPENAI_API_KEY": "sk-test-key"},
	})
	furnish(t, stack.Home())
	api := stack.API()
	stack.Reaper()
	stack.Worker()
	view := api.Submit("librarian", "What is in notes.txt?")
	require.Equal(t, "It says: buy milk.", api.AwaitState(view.ID, endTimeout, execution.Completed).Outcome.Answer)
	read := results(t, stack, view.ID)
	require.Contains(t, read, "notes.txt")
	require.Contains(t, read, "buy milk")
	for _, event := range api.Events(view.ID) {
		if completed, ok := event.Payload.(*execution.ToolCompleted); ok {
			require.False(t, completed.Failed, read)
		}
	}
}

// furnish puts the installed packages and a file into the folder in which the worker runs.
func furnish(t *testing.T, home string) {
	t.Helper()
	peers, err := filepath.Abs(filepath.Join("..", "..", "bin", "peers"))
	require.NoError(t, err)
	require.NoError(t, os.Symlink(filepath.Join(peers, "node_modules"), filepath.Join(home, "node_modules")))
	manifest, err := os.ReadFile(filepath.Join(peers, "package.json"))
	require.NoError(t, err)
	for name, text := range map[string]string{"package.json": string(manifest), ".npmrc": "offline=true\n", "notes.txt": "buy milk\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(home, name), []byte(text), 0o600))
	}
}
