//go:build faultpoint

package faultpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

// Enabled says whether this binary holds fault points.
const Enabled = true

// hits counts how often the named point was reached.
var hits atomic.Int64

// Hit kills the process if PAWL_FAULTPOINT names this point and it is reached for the number of times asked for.
func Hit(name string) {
	point, count := parse(os.Getenv("PAWL_FAULTPOINT"))
	if point != name {
		return
	}
	switch hit := hits.Add(1); {
	case hit < count:
		return
	case hit == count:
		fmt.Fprintln(os.Stderr, "FAULTPOINT "+name)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // a process may always signal itself
	}
	select {} // the signal may take a moment: nothing may follow the point, in any goroutine
}

// Armed reports whether this process is to die at the point: what makes its moment too short to be hit may be left out.
func Armed(name string) bool {
	point, _ := parse(os.Getenv("PAWL_FAULTPOINT"))
	return point == name
}

// parse splits "name#count"; a missing or unreadable count is 1.
func parse(value string) (string, int64) {
	point, number, _ := strings.Cut(value, "#")
	count, err := strconv.ParseInt(number, 10, 64)
	if err != nil || count < 1 {
		count = 1
	}
	return point, count
}
