package redisjournal

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/journal"
)

// CommitIn appends Commit to a pipeline that its caller sends. What it returns is to be called once after that and gives
// what Commit would. It commits by itself when the server did not know the script: a pipeline has no fallback of its own.
func (s *Store) CommitIn(ctx context.Context, pipe redis.Pipeliner, commit journal.Commit) (
	answer func(ctx context.Context) (journal.Committed, error), err error,
) {
	args, err := commitArguments(commit)
	if err == nil {
		err = checkID(commit.Execution)
	}
	if err == nil {
		err = ctx.Err() // go-redis may still write on a context that has ended
	}
	if err != nil {
		return nil, refusal("commit", string(commit.Execution), err)
	}
	script := s.scripts.commit
	command := pipe.EvalSha(ctx, script.Hash(), s.keys.first(commit.Execution, script.keys), append(args, s.now())...)
	return func(ctx context.Context) (journal.Committed, error) {
		if redis.HasErrorPrefix(command.Err(), "NOSCRIPT") {
			return s.Commit(ctx, commit)
		}
		result, err := committed(newReply(command.Result()))
		if err != nil {
			return journal.Committed{}, refusal("commit", string(commit.Execution), err)
		}
		return result, nil
	}, nil
}
