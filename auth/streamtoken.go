package auth

import (
	"context"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// StreamTokenTTL is how long a stream token opens its stream.
const StreamTokenTTL = 10 * time.Minute

// MaxStreamTokens is how many stream tokens of one key are good at once, or of one caller who shows no key: a further one
// ends the oldest.
const MaxStreamTokens = 1000

const streamPrefix = "pawlstream_"

func streamKind() kind {
	return kind{name: "streamtoken", longest: StreamTokenTTL, most: MaxStreamTokens}
}

// StreamTokens makes and knows the tokens that open the stream of one execution, for clients that cannot send a header. It is
// safe for concurrent use.
type StreamTokens struct {
	vault vault
	keys  *Keys
}

// InMemory makes StreamTokens that only this process knows.
func InMemory() *StreamTokens {
	return &StreamTokens{vault: &memoryVault{records: make(map[string]memoryRecord)}}
}

// Mint makes a token with the authority of the visit. It lasts no longer than the visit's credential, and dies with its key and
// with its session.
// Repeating it makes another one.
func (s *StreamTokens) Mint(ctx context.Context, visit *Visit, id execution.ID) (execution.StreamToken, error) {
	ttl := lasts(visit, StreamTokenTTL)
	if ttl <= 0 {
		return execution.StreamToken{}, problem(ctx, errExpired)
	}
	token, granted := streamPrefix+newSecret(), grantOf(visit)
	granted.Execution = id
	ends, err := s.vault.put(ctx, streamKind(), hashOf(token), granted, ttl)
	if err != nil {
		return execution.StreamToken{}, problem(ctx, err)
	}
	return execution.StreamToken{Token: token, ExpiresAtMs: ends}, nil
}

// Find is the visit of whoever shows the token to open the execution's stream. The visit outlives the token: it ends with
// the credential that the token was made with. ErrUnauthenticated, ErrForbidden: the token is another execution's.
func (s *StreamTokens) Find(ctx context.Context, token string, id execution.ID) (*Visit, error) {
	if !strings.HasPrefix(token, streamPrefix) || len(token) > maxCredential {
		return nil, refusedIn(paramToken)
	}
	granted, err := s.vault.get(ctx, streamKind(), hashOf(token))
	if err != nil {
		return nil, in(paramToken, problem(ctx, err))
	}
	visit, err := granted.visit(ctx, s.keys)
	if err == nil && granted.Session != "" {
		visit.session = &openSession{vault: s.vault, hash: granted.Session}
		err = visit.session.check(ctx)
	}
	if err != nil {
		return nil, in(paramToken, problem(ctx, err))
	}
	if granted.Execution != id {
		return nil, execution.NewAPIError(execution.Forbidden, "the token opens the stream of another execution").In(paramToken)
	}
	return visit, nil
}
