package redisjournal

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// Blob returns a large value stored beside the execution. See journal.Reader.
func (s *Store) Blob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	content, err := s.blob(ctx, id, hash)
	if err != nil {
		return nil, refusal("blob", string(id), err)
	}
	return content, nil
}

func (s *Store) blob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err // go-redis may still read on a context that has ended
	}
	content, err := s.rdb.HGet(ctx, s.keys.results(id), hash).Bytes()
	if errors.Is(err, redis.Nil) {
		err = fmt.Errorf("%w: blob %.64s", journal.ErrNotFound, hash)
	}
	return content, err
}
