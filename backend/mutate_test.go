//go:build mutate

package backend_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each exact text, changed by one character where it is written, fails a test that compares it. It takes minutes and runs by
// `make rows`.
func TestEachMutatedTextFailsATest(t *testing.T) {
	t.Parallel()
	places := literalPlaces(t)
	width := make(chan struct{}, 2)
	for _, text := range exactTexts() {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			width <- struct{}{}
			defer func() { <-width }()
			at, ok := places[text]
			require.True(t, ok, "the text is written nowhere")
			output, failed := testMutated(t, at, "~"+text)
			require.True(t, failed, "no test compares the text:\n%s", output)
			require.Contains(t, output, "--- FAIL", "the tests did not run:\n%s", output)
		})
	}
}

// place is where a literal stands in a file.
type place struct {
	file       string
	begin, end int
}

func literalPlaces(t *testing.T) map[string]place {
	t.Helper()
	places := map[string]place{}
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declaration := range file.Decls {
			constants, ok := declaration.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			ast.Inspect(constants, func(node ast.Node) bool {
				if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
					text, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					begin := files.Position(literal.Pos()).Offset
					places[text] = place{file: name, begin: begin, end: begin + len(literal.Value)}
				}
				return true
			})
		}
	}
	return places
}

// testMutated runs the package's tests with one literal changed.
func testMutated(t *testing.T, at place, text string) (output string, failed bool) {
	t.Helper()
	source, err := os.ReadFile(at.file)
	require.NoError(t, err)
	folder := t.TempDir()
	changed := filepath.Join(folder, "changed.go")
	mutated := string(source[:at.begin]) + strconv.Quote(text) + string(source[at.end:])
	require.NoError(t, os.WriteFile(changed, []byte(mutated), 0o600))
	whole, err := filepath.Abs(at.file)
	require.NoError(t, err)
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {whole: changed}})
	require.NoError(t, err)
	list := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(list, overlay, 0o600))
	test := exec.Command("go", "test", "-overlay", list, "-count", "1", "-skip", "TestEachExactText", ".")
	out, err := test.CombinedOutput()
	return string(out), err != nil
}
