// Package cases holds the list of cases in docs/cases.md to its word: every case is named by a test.
package cases

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite which tests name which case") //nolint:gochecknoglobals // a flag

const (
	root = "../.."
	page = "docs/cases.md"
)

var (
	// named is how a test names cases: TestCaseB5_…, TestCasesA8A9D1_…, "cases A1, A13 and B6: …".
	named = regexp.MustCompile(`(?i:cases?)[ _]?([A-K][0-9]{1,2}(?:(?:,| and|And|, and)? ?[A-K][0-9]{1,2})*)`)
	id    = regexp.MustCompile(`[A-K][0-9]{1,2}`)
	row   = regexp.MustCompile(`^\| ([A-K][0-9]{1,2}) \| (.+) \| (.*) \|$`)
)

func TestEveryCaseIsNamedByATest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(filepath.Join(root, page))
	require.NoError(t, err)
	places := namings(t)
	lines := strings.Split(string(data), "\n")
	listed := map[string]bool{}
	for i, line := range lines {
		match := row.FindStringSubmatch(line)
		if match == nil {
			continue
		}
		name := match[1]
		listed[name] = true
		if *update {
			lines[i] = "| " + name + " | " + match[2] + " | " + strings.Join(places[name], ", ") + " |"
			continue
		}
		if len(places[name]) == 0 {
			t.Errorf("case %s: no test names it", name)
		}
		for place := range strings.SplitSeq(match[3], ", ") {
			if !slices.Contains(places[name], place) {
				t.Errorf("case %s: %s says that %s names it; make docs puts that right", name, page, place)
			}
		}
	}
	require.NotEmpty(t, listed)
	for name := range places {
		if !listed[name] {
			t.Errorf("case %s of %v is not in %s", name, places[name], page)
		}
	}
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, page), []byte(strings.Join(lines, "\n")), 0o600))
	}
}

// namings finds the files of tests that name each case.
func namings(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return fs.SkipDir
		case entry.IsDir() || !isTest(path):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		place, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, match := range named.FindAllStringSubmatch(string(text), -1) {
			for _, name := range id.FindAllString(match[1], -1) {
				if !slices.Contains(found[name], place) {
					found[name] = append(found[name], place)
				}
			}
		}
		return nil
	})
	require.NoError(t, err)
	return found
}

// isTest reports whether a file holds tests: also the suites, whose names do not say so.
func isTest(path string) bool {
	path = filepath.ToSlash(path)
	if strings.Contains(path, "/test/cases/") || !strings.HasSuffix(path, ".go") {
		return false
	}
	return strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/journaltest/") || strings.Contains(path, "/linktest/") ||
		strings.Contains(path, "/wiretest/") || strings.Contains(path, "/test/scenario/")
}
