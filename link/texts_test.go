package link

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

func TestTextsAreThoseOfTheDefinition(t *testing.T) {
	t.Parallel()
	var kept texts
	for i := range maxTexts + 2 {
		definition := &agent.Definition{Name: fmt.Sprint("agent", i)}
		for range 2 {
			found := kept.of(definition)
			require.Equal(t, definition.Hash(), found.hash)
			require.Equal(t, definition.Canonical(), found.canonical)
		}
	}
	require.LessOrEqual(t, len(kept.kept), maxTexts)
}
