package journaltest

import "testing"

// Run is the whole suite. open is called once for each clause.
func Run(t *testing.T, open Open) {
	t.Helper()
	for _, group := range groups() {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, c := range group.clauses {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.run(t, newBench(t, open))
				})
			}
		})
	}
}

// clause is one sentence of the specification.
type clause struct {
	name string
	run  func(t *testing.T, b *bench)
}

type group struct {
	name    string
	clauses []clause
}
