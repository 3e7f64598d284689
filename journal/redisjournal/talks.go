package redisjournal

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

// talksAtOnce is how many tenants' conversations of one id a listing reads in each partition, at most. Where there are more
// the listing goes through everybody's executions.
const talksAtOnce = 16

// named is a zset, all scores 0: the names of a partition's conversations whose ids clients chose, as their keys have them.
func (k keyspace) named(p execution.Partition) string { return k.partition(p) + "named" }

// talks gives the heads of a listing by conversation: one, or where the listing is everybody's and a client chose the id, one
// for each tenant that did. few is false when these are too many.
func (s *Store) talks(ctx context.Context, l journal.Listing) (heads []*head, few bool, err error) {
	if l.Caller.Tenant == execution.AllTenants && !l.ConversationID.Minted() {
		return s.talksOfAll(ctx, l)
	}
	h := &head{partition: l.ConversationID.Partition(l.Caller.Tenant), tenant: l.Caller.Tenant, after: l.After}
	if h.tenant == execution.AllTenants {
		h.tenant = ""
	}
	c := talk{l.Caller.Tenant, l.ConversationID}
	h.keys = []string{s.keys.conversation(c), s.keys.executions(c)}
	return []*head{h}, true, nil
}

// talksOfAll looks the id up in every partition, in one round trip. Behind the slash of a name comes its tenant; 0 is the
// byte behind the slash.
func (s *Store) talksOfAll(ctx context.Context, l journal.Listing) (heads []*head, few bool, err error) {
	id := escapeColons(string(l.ConversationID))
	var found [execution.Partitions]*redis.StringSliceCmd
	_, err = s.rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for p := range execution.Partition(execution.Partitions) {
			found[p] = pipe.ZRangeByLex(ctx, s.keys.named(p), &redis.ZRangeBy{Min: "[" + id + "/", Max: "(" + id + "0", Count: talksAtOnce + 1})
		}
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	for p, names := range found {
		if len(names.Val()) > talksAtOnce {
			return nil, false, nil
		}
		for _, name := range names.Val() {
			key := s.keys.partition(execution.Partition(p)) + talkMark + name
			heads = append(heads, &head{
				partition: execution.Partition(p), keys: []string{key, key + ":executions"}, after: l.After,
			})
		}
	}
	return heads, true, nil
}
