package queue

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
)

// each sends the pipeline; what is not there is no error.
func each(ctx context.Context, pipe redis.Pipeliner) error {
	if pipe.Len() == 0 {
		return nil
	}
	commands, err := pipe.Exec(ctx)
	if err == nil {
		return nil
	}
	for _, command := range commands {
		if err := command.Err(); err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
	}
	return nil
}
