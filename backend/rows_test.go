package backend_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row of the reference contract for backends is a subtest of this package, by the name of its first cell.
func TestEveryRowOfContractBHasASubtest(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/contract_b.txt")
	require.NoError(t, err)
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, rows, 34)
	subtests := map[string]int{}
	for _, file := range parsed(t, true) {
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok || len(call.Args) != 2 {
				return true
			}
			run, ok := call.Fun.(*ast.SelectorExpr)
			name, literal := call.Args[0].(*ast.BasicLit)
			if ok && literal && run.Sel.Name == "Run" && name.Kind == token.STRING {
				text, err := strconv.Unquote(name.Value)
				require.NoError(t, err)
				subtests[text]++
			}
			return true
		})
	}
	for _, row := range rows {
		require.Equal(t, 1, subtests[row], row)
	}
}

// parsed are the package's files: its tests, or its code.
func parsed(t *testing.T, tests bool) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") != tests {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}
