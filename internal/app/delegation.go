package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/redisvault"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/executor"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link"
)

// tokenTypes are those of RFC 8693 by the names that the environment has for them.
func tokenTypes() map[string]string {
	return map[string]string{
		"access_token": delegation.AccessTokenType, "refresh_token": delegation.RefreshTokenType,
		"id_token": delegation.IDTokenType, "jwt": delegation.JWTType,
	}
}

// newBroker is the broker that the environment describes; nil: executions act for nobody.
func newBroker(
	rdb redis.UniversalClient, cfg config.Delegation, logger *slog.Logger,
) (delegation.Broker, error) {
	allowed := delegation.Allowed{
		Audiences: cfg.DelegationAudiences, Resources: cfg.DelegationResources, Scopes: cfg.DelegationScopes,
	}
	if token := cfg.DelegationStaticToken.Reveal(); token != "" {
		return delegation.NewStatic(token, allowed)
	}
	if cfg.DelegationTokenURL == "" {
		return nil, nil //nolint:nilnil // none is what most installations have
	}
	keys, err := cfg.SealingKeys()
	if err != nil {
		return nil, err
	}
	ring, err := delegation.NewKeyring(keys...)
	if err != nil {
		return nil, fmt.Errorf("PAWL_DELEGATION_KEYS: %w", err)
	}
	broker, err := delegation.NewExchange(delegation.ExchangeConfig{
		TokenURL: cfg.DelegationTokenURL, RevokeURL: cfg.DelegationRevokeURL, ClientID: cfg.DelegationClientID,
		ClientSecret:     execution.NewCredential(cfg.DelegationClientSecret.Reveal()),
		SubjectTokenType: tokenTypes()[cfg.DelegationSubjectType], RequestedTokenType: tokenTypes()[cfg.DelegationRequestType],
		Allowed: allowed, Vault: redisvault.New(rdb, keyPrefix), Keyring: ring, Timeout: cfg.DelegationTimeout, Logger: logger,
	})
	if err != nil {
		return nil, fmt.Errorf("PAWL_DELEGATION_…: %w", err)
	}
	return broker, nil
}

// linkBroker is the broker as link has it: nil when there is none.
func linkBroker(broker delegation.Broker) link.Broker {
	if broker == nil {
		return nil
	}
	return broker
}

// tokens is the broker as the executor has it: nil when there is none.
func tokens(broker delegation.Broker) executor.Delegations {
	if broker == nil {
		return nil
	}
	return broker
}

// revoker revokes the delegations of executions that have ended.
type revoker struct{ broker delegation.Broker }

var errNoBroker = errors.New("the execution has a delegation, and this reaper has no PAWL_DELEGATION_… to revoke it with")

// Clean implements reaper.Cleaner.
func (r revoker) Clean(ctx context.Context, row journal.Execution) error {
	switch {
	case row.Delegation == nil || row.Delegation.CleanupComplete:
		return nil
	case r.broker == nil:
		return errNoBroker
	default:
		return r.broker.Revoke(ctx, row.ID, row.CreatedAtMs)
	}
}
