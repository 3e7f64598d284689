package upgrade

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// sumsFile says what each file of each fixture was when it was written.
const sumsFile = "testdata/fixtures.sum"

// sums are the lines about a fixture.
func sums(dir string) (string, error) {
	lines := ""
	for _, name := range []string{agentsFile, dumpFile, scenesFile} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		lines += fmt.Sprintf("%x  %s/%s\n", sha256.Sum256(data), filepath.Base(dir), name)
	}
	return lines, nil
}

// sum notes what a new fixture is.
func sum(dir string) error {
	lines, err := sums(dir)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(sumsFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if _, err := file.WriteString(lines); err != nil {
		_ = file.Close() // the write's error says what is wrong
		return err
	}
	return file.Close()
}

// fixtures are the folders of all.
func fixtures(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*/" + scenesFile)
	require.NoError(t, err)
	require.NotEmpty(t, found)
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// A fixture is what an earlier release has stored. What that was does not change any more: a release that cannot go on with it is
// at fault, and not the fixture.
func TestNoFixtureWasEdited(t *testing.T) {
	t.Parallel()
	all := ""
	for _, dir := range fixtures(t) {
		lines, err := sums(dir)
		require.NoError(t, err)
		all += lines
	}
	written, err := os.ReadFile(sumsFile)
	require.NoError(t, err)
	require.Equal(t, string(written), all)
}
