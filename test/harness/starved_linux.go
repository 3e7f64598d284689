package harness

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// starved is how long the threads of a process have stood ready to run without a processor to run on, since they began. What
// has ended counts nothing.
func starved(pid int) time.Duration {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var total time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		fields := bytes.Fields(text) // nanoseconds that it ran, nanoseconds that it waited, how often
		if len(fields) < 2 {
			continue
		}
		if n, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
			total += time.Duration(n)
		}
	}
	return total
}
