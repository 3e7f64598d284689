package config

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/configuration.md anew")

func TestManual_IsWhatTheProgramsSay(t *testing.T) {
	t.Parallel()
	const page = "../../docs/configuration.md"
	var said bytes.Buffer
	require.NoError(t, Manual(&said))
	if *update {
		require.NoError(t, os.WriteFile(page, said.Bytes(), 0o644))
	}
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, said.String(), string(written), "make docs writes it anew")
	for _, program := range []any{&API{}, &Worker{}, &Reaper{}, &Dev{}, &Keys{}, &Doctor{}, &Client{}} {
		var usage bytes.Buffer
		require.NoError(t, Usage(&usage, program))
		require.Contains(t, said.String(), usage.String())
	}
}
