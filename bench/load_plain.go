package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"
)

// plainLoad is the same chain with Asynq's own client and server and nothing of Pawl.
type plainLoad struct {
	rdb    redis.UniversalClient
	meter  *meter
	tally  tally
	client *asynq.Client
	server *asynq.Server
}

func startPlain(ctx context.Context, spec Spec) (load, error) {
	rdb, m, err := open(spec)
	if err != nil {
		return nil, err
	}
	l := &plainLoad{rdb: rdb, meter: m, client: asynq.NewClientFromRedisClient(rdb)}
	l.server = asynq.NewServerFromRedisClient(rdb, asynq.Config{
		Concurrency: spec.Concurrency, ShutdownTimeout: drainTime, LogLevel: asynq.FatalLevel,
	})
	// Before the server starts: one that finds nothing sleeps for a second.
	for i := range spec.Chains {
		if err := l.enqueue(ctx, strconv.Itoa(i)); err != nil {
			return nil, errors.Join(fmt.Errorf("bench: begin a chain: %w", err), rdb.Close())
		}
	}
	if err := l.server.Start(asynq.HandlerFunc(l.handle)); err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return l, nil
}

func (l *plainLoad) handle(ctx context.Context, task *asynq.Task) error {
	if err := l.enqueue(ctx, string(task.Payload())); err != nil {
		l.tally.failures.Add(1)
		return err
	}
	l.tally.steps.Add(1)
	return nil
}

func (l *plainLoad) enqueue(ctx context.Context, payload string) error {
	_, err := l.client.EnqueueContext(ctx, asynq.NewTask("bench", []byte(payload)), asynq.MaxRetry(1000), asynq.Timeout(time.Hour))
	return err
}

// Snap implements load.
func (l *plainLoad) Snap(context.Context) (Snap, error) { return readSnap(&l.tally, l.meter), nil }

// Close implements load.
func (l *plainLoad) Close(context.Context) error {
	l.server.Shutdown()
	return l.rdb.Close()
}
