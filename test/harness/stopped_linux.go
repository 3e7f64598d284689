package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// allStopped reports whether every thread of the process is stopped: a signal takes a moment to reach them.
func allStopped(pid int) bool {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil || len(threads) == 0 {
		return false
	}
	for _, path := range threads {
		data, err := os.ReadFile(path)
		if err != nil {
			return false
		}
		behind := string(data)[strings.LastIndexByte(string(data), ')')+1:]
		if !strings.HasPrefix(strings.TrimSpace(behind), "T") {
			return false
		}
	}
	return true
}
