package bench

import (
	"context"
	"time"
)

// briefWindow is the longest window of a sweep with many loads.
const briefWindow = 3 * time.Second

// addRatios compares the chains with Pawl under one condition.
func (e *Env) addRatios(ctx context.Context, r *Result, condition string, at *site, nodes []int) error {
	defer e.briefly()()
	sides := []side{e.side(plainChain, at, 1), e.side(rawChain, at, 1)}
	const plain, raw, chains = 0, 1, 2
	for _, n := range nodes {
		sides = append(sides, e.side(pawl, at, n))
	}
	return e.compare(ctx, sides, func(round []Window) {
		for i := range round {
			name := condition + ": " + sides[i].name
			r.add(name+": steps", "1/s", round[i].perSecond(round[i].Steps))
			if i >= chains {
				addPawl(r, name, &round[i], &round[raw], &round[plain])
			}
		}
	})
}

// briefly shortens the windows until what it returns is called.
func (e *Env) briefly() (restore func()) {
	before := e.cfg.Duration
	e.cfg.Duration = min(before, briefWindow)
	return func() { e.cfg.Duration = before }
}
