package gather

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// Rider is who has commands that are in no hurry. They travel at the end of the next pipeline that is sent anyway; that there
// is one is for the rider to see to, with Depart.
type Rider interface {
	// Board gives up the commands that wait, and what is to be called when each has its reply or its error; both return at
	// once. It is called by whoever is about to send. No commands: none wait.
	Board() (cmds []redis.Cmder, arrived func())
}

// Carry takes the rider's commands along for as long as the group is used.
func (g *Group) Carry(r Rider) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.riders = append(slices.Clip(g.riders), r)
}

// Depart sends what riders have: at once, or with the next pipeline if others are under way. It returns when that has
// arrived, or when over is closed; nil never is.
func (g *Group) Depart(over <-chan struct{}) {
	g.do(&call{ctx: context.Background()}, over)
}

// Along sends the commands at once, whatever is under way, and takes along what riders have. Each has its reply or its error
// when it returns.
func (g *Group) Along(ctx context.Context, cmds ...redis.Cmder) { g.exec(ctx, cmds) }

// board collects what rides along with the next pipeline.
func (g *Group) board() (cmds []redis.Cmder, arrived []func()) {
	g.mu.Lock()
	riders := g.riders
	g.mu.Unlock()
	for _, r := range riders {
		if some, told := r.Board(); len(some) > 0 {
			cmds, arrived = append(cmds, some...), append(arrived, told)
		}
	}
	return cmds, arrived
}
