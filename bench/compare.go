package bench

import "context"

// side is one of several loads that take turns.
type side struct {
	name      string
	at        *site
	spec      Spec
	processes int // 0: this one
}

// compare runs all sides Pairs times, in turn, and hands over the windows of each round, in the order of the sides.
func (e *Env) compare(ctx context.Context, sides []side, each func(round []Window)) error {
	for pair := range e.cfg.Pairs {
		round := make([]Window, len(sides))
		for i := range sides {
			// The order alternates, so that whatever drifts during a pair favors nobody.
			if pair%2 == 1 {
				i = len(sides) - 1 - i
			}
			s := sides[i]
			w, err := e.run(ctx, s.at, s.spec, s.processes)
			if err != nil {
				return err
			}
			e.say("  %d/%d  %-34s %9.0f steps/s", pair+1, e.cfg.Pairs, s.name, w.perSecond(w.Steps))
			round[i] = w
		}
		each(round)
	}
	return nil
}

// side is a side of the configuration's size on one site.
func (e *Env) side(k kind, at *site, nodes int) side {
	spec := e.spec(k, at)
	spec.NodesPerTask = nodes
	return side{name: spec.name(), at: at, spec: spec}
}

func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
