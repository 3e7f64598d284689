package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

type fewAgents map[string]*agent.Definition

func (f fewAgents) Agent(name string) (*agent.Definition, bool) {
	d, known := f[name]
	return d, known
}

func (f fewAgents) Names() (names []string) {
	for name := range f {
		names = append(names, name)
	}
	return names
}

func TestWhatIsPublishedIsToldAtStart(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agents fewAgents
		wanted bool
		want   string
	}{
		"some": {fewAgents{"one": {Publish: &agent.Publish{}}, "two": {}}, true, "level=INFO msg=\"showing agents to the agents of others\" path=/a2a agents=[one]"},
		"none": {fewAgents{"two": {}}, true, "level=WARN msg=\"PAWL_A2A is set"},
		"off":  {fewAgents{"one": {Publish: &agent.Publish{}}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log strings.Builder
			tellPublished(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), c.agents, c.wanted)
			if c.want == "" {
				require.Empty(t, log.String())
			}
			require.Contains(t, log.String(), c.want)
		})
	}
}
