package main

import (
	"os"
	"path/filepath"
	"strings"
)

// self is what a person types to run this program again. Started by go run there is no pawl to type yet.
func self() string {
	dir := filepath.ToSlash(filepath.Dir(os.Args[0]))
	if strings.Contains(dir, "go-build") && strings.HasSuffix(dir, "/exe") {
		return "go run ./cmd/pawl"
	}
	return "pawl"
}
