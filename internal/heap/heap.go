// Package heap keeps a small heap from being collected too often.
//
// Go collects garbage when as much was allocated as was left after the collection before. A worker keeps some megabytes and
// allocates about 30 kB a step, so at thousands of steps a second it would collect many times a second, and each time look
// through its goroutines and all that it keeps.
package heap

import (
	"os"
	"runtime"
)

// floor is how much more than what it keeps a process allocates between two collections, and how much more memory it may
// use for that.
const floor = 24 << 20

// Floor makes the collector wait until at least 24 MiB were allocated. release ends that. With GOMEMLIMIT or GOGC in the
// environment it does nothing: then somebody else has decided.
//
// It holds memory that is never touched, so that it counts to the collector and not to the system.
func Floor() (release func()) {
	if os.Getenv("GOMEMLIMIT") != "" || os.Getenv("GOGC") != "" {
		return func() {}
	}
	ballast := make([]byte, floor)
	return func() { runtime.KeepAlive(ballast) }
}
