//go:build faultpoint

package config

import "strings"

// builtIn reports names that belong to the build itself: programs built for fault tests obey PAWL_FAULT names.
func builtIn(name string) bool { return strings.HasPrefix(name, "PAWL_FAULT") }
