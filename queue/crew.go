package queue

import (
	"sync"

	"github.com/pawl-run/pawl/execution"
)

// crew runs tasks in goroutines that stay for the next ones. Asynq begins one for each task, whose stack would have to grow
// to that of a step again and again, by copying. Safe for concurrent use.
type crew struct {
	run  func(execution.Task) error
	stop <-chan struct{}
	idle chan *job // without memory: a send succeeds when somebody waits
	all  sync.WaitGroup
	jobs sync.Pool // of *job
}

// job is a task on its way through the crew.
type job struct {
	task execution.Task
	err  error
	done chan struct{} // holds one
}

func newCrew(run func(execution.Task) error, stop <-chan struct{}) *crew {
	return &crew{
		run: run, stop: stop, idle: make(chan *job),
		jobs: sync.Pool{New: func() any { return &job{done: make(chan struct{}, 1)} }},
	}
}

// do runs the task and returns its error. It waits for nobody: without an idle goroutine there is a new one.
func (c *crew) do(task execution.Task) error {
	j := c.jobs.Get().(*job) //nolint:forcetypeassert // see New
	j.task = task
	select {
	case c.idle <- j:
	default:
		c.all.Go(func() { c.work(j) })
	}
	<-j.done
	err := j.err
	j.err = nil
	c.jobs.Put(j)
	return err
}

// work runs one task after the other until the server stops.
func (c *crew) work(j *job) {
	for {
		j.err = c.run(j.task)
		j.done <- struct{}{}
		select {
		case j = <-c.idle:
		case <-c.stop:
			return
		}
	}
}
