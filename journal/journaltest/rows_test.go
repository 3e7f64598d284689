package journaltest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every row about delegations of the reference contract for journals has a clause that names it.
func TestEveryDelegationRowOfContractCHasAClause(t *testing.T) {
	t.Parallel()
	var names []string
	for _, group := range groups() {
		for _, c := range group.clauses {
			names = append(names, c.name)
		}
	}
	all := strings.Join(names, "\n")
	for _, row := range []string{
		"JournalDelegation", "attach_delegation", "complete_delegation_cleanup", "loss of credential",
	} {
		require.Contains(t, all, "contract C, "+row+": ", row)
	}
}
