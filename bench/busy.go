package bench

import (
	"sync"
	"time"
)

// busyWatch adds up how many slots of a queue server are at work.
type busyWatch struct {
	end chan struct{}
	all sync.WaitGroup

	mu  sync.Mutex
	sum float64 // slots times seconds; guarded by mu
}

// watchBusy looks 50 times a second until it is stopped: each look wakes the process, and so costs what is measured.
func watchBusy(running func() int64) *busyWatch {
	const every = 20 * time.Millisecond
	b := &busyWatch{end: make(chan struct{})}
	b.all.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-b.end:
				return
			case now := <-tick.C:
				b.mu.Lock()
				b.sum += float64(running()) * now.Sub(last).Seconds()
				b.mu.Unlock()
				last = now
			}
		}
	})
	return b
}

func (b *busyWatch) read() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum
}

func (b *busyWatch) stop() {
	close(b.end)
	b.all.Wait()
}
