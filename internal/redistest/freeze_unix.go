//go:build unix

package redistest

import "syscall"

// The signals that freeze a process and let it go on.
const (
	stop = syscall.SIGSTOP
	goOn = syscall.SIGCONT
)
