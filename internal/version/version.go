package version

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// release is the version that the linker was told, for a build from a source tree without its history, as in an image:
// -ldflags "-X github.com/pawl-run/pawl/internal/version.release=v0.1.0". Nothing else sets it.
var release string

// Build is what a program knows about itself. Fields that the build did not record are empty.
type Build struct {
	Version  string // that the linker was told, or of the module; (devel) when built from a source tree
	Revision string // of the source tree
	Time     string // of that revision, RFC 3339
	Modified bool   // the tree had changes that were not committed
	Go       string
	Platform string
}

// Read reads the build information of the running program.
func Read() Build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return from(&debug.BuildInfo{}, release)
	}
	return from(info, release)
}

func from(info *debug.BuildInfo, release string) Build {
	build := Build{
		Version: cmp.Or(release, info.Main.Version, "(devel)"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			build.Revision = setting.Value
		case "vcs.time":
			build.Time = setting.Value
		case "vcs.modified":
			build.Modified = setting.Value == "true"
		}
	}
	return build
}

// String is one line: the version, the revision in short, the Go release and the platform.
func (b Build) String() string {
	line := b.Version
	if b.Revision != "" {
		line += " (" + b.Revision[:min(12, len(b.Revision))]
		if b.Modified {
			line += ", modified"
		}
		line += ")"
	}
	return line + " " + b.Go + " " + b.Platform
}
