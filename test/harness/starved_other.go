//go:build !linux

package harness

import "time"

// starved is not known here: a bound holds as it stands.
func starved(int) time.Duration { return 0 }
