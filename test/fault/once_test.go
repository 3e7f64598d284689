//go:build faultpoint

package fault

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// runOnce lists the tests to which it is all the same with how many nodes per task the whole of them is run: they run when that is
// the shipped setting (or with one), and not a second time. Whatever kills a worker, or looks at what one writes, is not of them.
func runOnce() []string {
	return []string{
		// Each runs with one node per task and with eight by itself.
		"TestAParentOfManyChildrenGetsEachResultOnceWhateverWorkerDies",
		"TestACanceledParentOfManyChildrenLeavesNoneRunning",
		"TestAFamilyThatWaitsHoldsNoWorker",
		"TestCaseK5_ARemoteTaskSurvivesItsWorker",
		"TestCaseK5_ACancelReachesAWorkingRemoteTaskAfterARestart",
		"TestTheAnswerReachesTheTaskThatAsked",
		// Only the API dies, before a worker knows of the execution.
		"TestCaseA1_AnAPIKilledBeforeItsWriteLeavesNothingAndTheClientRepeats",
		"TestCaseA1_AnAPIMayDieBetweenAnyTwoOfItsRedisCalls",
		"TestFiftyConcurrentSubmissionsWithOneKeyAreOneExecution",
		"TestCaseA23_TheResultIsTheRecordAndNotTheConnection",
		// What is waited for is Asynq's lease of a task, and the task is the only one.
		"TestAWorkerThatWasIdleForLongEndsItsTasks",
		// Programs and their names are looked at, and no setting.
		"TestShippedProgramsContainNoFaultPoint",
		"TestCaseA11_AWorkerIsAnotherOneEachTimeItStarts",
		"TestWhatRunsOnceIsThere",
	}
}

// skipped is the pattern of the tests that this run leaves to the other one.
func skipped(nodesPerTask string) string {
	if nodesPerTask == "" || nodesPerTask == "1" {
		return ""
	}
	return "^(" + strings.Join(runOnce(), "|") + ")$"
}

func TestWhatRunsOnceIsThere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	there := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok {
				there[function.Name.Name] = true
			}
		}
	}
	for _, name := range runOnce() {
		require.True(t, there[name], "%s is left out of a run and is in none", name)
	}
}
