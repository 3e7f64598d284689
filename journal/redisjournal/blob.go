package redisjournal

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	content, err := s.rdb.HGet(ctx, s.keys.results(id), blobField(hash)).Bytes()
	if !errors.Is(err, redis.Nil) {
		return content, err
	}
	return s.lentBlob(ctx, id, hash)
}

// lentBlob is a large value of one of the executions that this one was forked from: theirs are kept as long as it is.
func (s *Store) lentBlob(ctx context.Context, id execution.ID, hash string) ([]byte, error) {
	lenders, err := s.rdb.HGet(ctx, s.keys.row(id), "lent").Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	for lender := range strings.FieldsSeq(lenders) {
		content, err := s.rdb.HGet(ctx, s.keys.results(execution.ID(lender)), blobField(hash)).Bytes()
		if !errors.Is(err, redis.Nil) {
			return content, err
		}
	}
	return nil, fmt.Errorf("%w: blob %.64s", journal.ErrNotFound, hash)
}

// blobField is the field of a hash: beside them stands how many forks need them.
func blobField(hash string) string {
	if hash == "forks" {
		return ""
	}
	return hash
}
