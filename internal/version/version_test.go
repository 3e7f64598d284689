package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrom_SaysWhatTheBuildRecorded(t *testing.T) {
	t.Parallel()
	build := from(&debug.BuildInfo{
		Main: debug.Module{Version: "v0.1.0"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"},
			{Key: "vcs.time", Value: "2026-01-02T03:04:05Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}, "")
	require.Equal(t, "v0.1.0", build.Version)
	require.Equal(t, "2026-01-02T03:04:05Z", build.Time)
	require.Contains(t, build.String(), "v0.1.0 (0123456789ab, modified) go")
}

func TestFrom_NamesABuildWithoutVersionDevel(t *testing.T) {
	t.Parallel()
	require.Equal(t, "(devel)", from(&debug.BuildInfo{}, "").Version)
	require.NotEmpty(t, Read().Go)
}

func TestFrom_BelievesTheLinker(t *testing.T) {
	t.Parallel()
	require.Equal(t, "v0.2.0", from(&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "v0.2.0").Version)
}
