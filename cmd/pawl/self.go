package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// self is what a person types to run this program again.
func self() string { return selfFrom(os.Args[0]) }

// asTyped puts program into the examples of a text: the lines that begin with two spaces and pawl.
func asTyped(program, text string) string {
	return regexp.MustCompile(`(?m)^  pawl `).ReplaceAllLiteralString(text, "  "+program+" ")
}

// selfFrom tells from the name it was started by. Started by go run there is no pawl to type yet: the first time the
// program lies in a directory for temporary files, later in the build cache.
func selfFrom(program string) string {
	dir := filepath.ToSlash(filepath.Dir(program))
	cached := regexp.MustCompile(`/[0-9a-f]{2}/[0-9a-f]{64}-d$`)
	if strings.Contains(dir, "/go-build") && strings.HasSuffix(dir, "/exe") || cached.MatchString(dir) {
		return "go run ./cmd/pawl"
	}
	return "pawl"
}
