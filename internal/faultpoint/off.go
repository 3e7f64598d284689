//go:build !faultpoint

package faultpoint

// Enabled says whether this binary holds fault points.
const Enabled = false

// Hit marks a point. In this build it does nothing.
func Hit(string) {}

// Armed is false in this binary.
func Armed(string) bool { return false }
