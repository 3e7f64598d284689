//go:build !faultpoint

package config

// builtIn reports names that belong to the build itself: none in a shipped program.
func builtIn(string) bool { return false }
