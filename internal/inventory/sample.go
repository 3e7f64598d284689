package inventory

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/internal/redisconn"
)

// Sampler estimates what each kind weighs from keys drawn at random, at a cost that does not depend on how many there are.
// It is not safe for concurrent use.
type Sampler struct {
	classes *classes
	keys    int
	// mean is what a key drawn at random weighs on average as one of each kind, over the last samples.
	mean map[string]float64
}

// NewSampler draws so many keys of each node at a time.
func NewSampler(prefix string, keys int) *Sampler {
	return &Sampler{classes: newClasses(prefix), keys: keys, mean: map[string]float64{}}
}

// weightOfNew is how much a sample counts against those before it.
const weightOfNew = 0.2

// Sample draws keys and estimates the bytes of each kind. Estimates become steady with repeated samples.
func (s *Sampler) Sample(ctx context.Context, rdb redis.UniversalClient) (map[string]float64, error) {
	var stored int64
	drawn, bytes := 0, make(map[string]float64)
	err := redisconn.EachNode(ctx, rdb, func(ctx context.Context, node redis.Cmdable) error {
		size, err := node.DBSize(ctx).Result()
		if err != nil {
			return err
		}
		stored += size
		keys, err := s.draw(ctx, node, size)
		if err != nil {
			return err
		}
		drawn += len(keys)
		return s.weigh(ctx, node, keys, bytes)
	})
	if err != nil {
		return nil, fmt.Errorf("sample keys: %w", err)
	}
	s.learn(bytes, drawn)
	estimates := make(map[string]float64, len(s.mean))
	for kind, mean := range s.mean {
		estimates[kind] = mean * float64(stored)
	}
	return estimates, nil
}

// learn moves the means towards a sample.
func (s *Sampler) learn(bytes map[string]float64, drawn int) {
	if drawn == 0 {
		clear(s.mean)
		return
	}
	first := len(s.mean) == 0
	for kind := range s.mean {
		s.mean[kind] *= 1 - weightOfNew
	}
	for kind, sum := range bytes {
		if first {
			s.mean[kind] = sum / float64(drawn)
			continue
		}
		s.mean[kind] += weightOfNew * sum / float64(drawn)
	}
}

// draw gives keys drawn at random, some of them perhaps twice; none of an empty node.
func (s *Sampler) draw(ctx context.Context, node redis.Cmdable, size int64) ([]string, error) {
	if size == 0 {
		return nil, nil
	}
	drawn := make([]*redis.StringCmd, s.keys)
	_, err := node.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i := range drawn {
			drawn[i] = pipe.RandomKey(ctx)
		}
		return nil
	})
	var keys []string
	for _, key := range drawn {
		if key.Err() == nil {
			keys = append(keys, key.Val())
		}
	}
	if len(keys) == 0 {
		return nil, err
	}
	return keys, nil
}

func (s *Sampler) weigh(ctx context.Context, node redis.Cmdable, keys []string, bytes map[string]float64) error {
	if len(keys) == 0 {
		return nil
	}
	usages, err := usage(ctx, node, keys)
	if err != nil {
		return err
	}
	for i, key := range keys {
		if usages[i].Err() == nil { // else gone since
			bytes[s.classes.of(key)] += float64(usages[i].Val())
		}
	}
	return nil
}
