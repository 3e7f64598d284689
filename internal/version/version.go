package version

import (
	"runtime"
	"runtime/debug"
)

// Build is what a program knows about itself. Fields that the build did not record are empty.
type Build struct {
	Version  string // of the module; (devel) when built from a source tree
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
		return from(&debug.BuildInfo{})
	}
	return from(info)
}

func from(info *debug.BuildInfo) Build {
	build := Build{
		Version: info.Main.Version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if build.Version == "" {
		build.Version = "(devel)"
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
