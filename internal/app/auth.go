package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/redisconn"
)

// access is who comes in, and what must run for that.
type access struct {
	gate *auth.Gate
	run  func(context.Context) error
}

func newAccess(ctx context.Context, rdb redis.UniversalClient, cfg config.Auth, logger *slog.Logger) (access, error) {
	keys, err := auth.NewKeys(rdb, auth.KeysConfig{})
	if err != nil {
		return access{}, err
	}
	tellOfKeys(ctx, keys, cfg, logger)
	if cfg.Auth != config.AuthKeys {
		return access{gate: auth.Open(rdb, cfg.CORSOrigins...), run: idle}, nil
	}
	made, run := auth.Config{LoginRate: cfg.LoginRate, Proxies: cfg.Proxies, Logger: logger}, idle
	if cfg.OIDCIssuer != "" {
		made.Issuer, err = auth.NewIssuer(auth.IssuerConfig{
			URL: cfg.OIDCIssuer, Audience: cfg.OIDCAudience, TenantClaim: cfg.OIDCTenant, SubjectClaim: cfg.OIDCSubject,
			RoleClaim: cfg.OIDCRole, Login: issuerLogin(cfg.OIDCLogin), Logger: logger,
		})
		if err != nil {
			return access{}, err
		}
		run = made.Issuer.Run
	}
	gate, err := auth.New(rdb, made)
	return access{gate: gate, run: run}, err
}

// issuerLogin is the client as which browsers log in on the issuer's page, if there is one.
func issuerLogin(cfg config.OIDCLogin) *auth.LoginConfig {
	if cfg.ClientID == "" {
		return nil
	}
	return &auth.LoginConfig{
		ClientID: cfg.ClientID, ClientSecret: cfg.ClientSecret.Reveal(), RedirectURL: cfg.RedirectURL, Scopes: cfg.Scopes, Name: cfg.Name,
	}
}

// tellOfKeys warns when keys and settings do not go together. It is no reason not to start.
func tellOfKeys(ctx context.Context, keys *auth.Keys, cfg config.Auth, logger *slog.Logger) {
	some, err := keys.Any(ctx)
	switch {
	case err != nil:
		logger.WarnContext(ctx, "whether there are API keys could not be found out", "error", err)
	case some && cfg.Auth != config.AuthKeys:
		logger.WarnContext(ctx, "API KEYS EXIST AND NOBODY IS ASKED FOR ONE: everybody on this machine is an operator. "+
			"Set PAWL_AUTH=keys, or revoke them")
	case !some && cfg.Auth == config.AuthKeys && cfg.OIDCIssuer == "":
		logger.WarnContext(ctx, "there is no API key: nobody can use the API. Make one with `pawl keys create`")
	}
}

// errNeedsKeys: without keys everybody who reaches the API may do everything.
var errNeedsKeys = errors.New(
	"without API keys the API serves loopback addresses only, such as 127.0.0.1:8080: set PAWL_AUTH=keys for others")

// requireLoopback refuses an address that other machines can reach, unless keys are asked for.
func requireLoopback(addr string, cfg config.Auth) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("PAWL_HTTP_ADDR: %w", err)
	}
	if cfg.Auth != config.AuthKeys && !loopbackAddress(addr) {
		return fmt.Errorf("PAWL_HTTP_ADDR is %s: %w", addr, errNeedsKeys)
	}
	return nil
}

// keysTimeout bounds what a command does about keys.
const keysTimeout = 30 * time.Second

// WithKeys calls f with the keys of the installation. The error of a Redis that cannot be reached names it.
func WithKeys(ctx context.Context, cfg config.Keys, f func(context.Context, *auth.Keys) error) error {
	rdb, err := redisconn.Open(redisconn.Config{
		URL: cfg.RedisURL.Reveal(), Concurrency: 1, ClientName: "pawl-keys",
	})
	if err != nil {
		return fmt.Errorf("PAWL_REDIS_URL: %w", err)
	}
	defer func() { _ = rdb.Close() }() // what was asked is done
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	keys, err := auth.NewKeys(rdb, auth.KeysConfig{})
	if err != nil {
		return err
	}
	err = f(ctx, keys)
	if err == nil || errors.Is(err, auth.ErrNoKey) || errors.Is(err, auth.ErrInvalidKey) || ctx.Err() != nil {
		return err
	}
	return fmt.Errorf("redis at %s: %w", redisconn.Redact(cfg.RedisURL.Reveal()), redisconn.AtTheDoor(ctx, rdb, err))
}

// withKey sees to it that whoever started `pawl dev` with keys has one, or knows how to make one.
func (s *Started) withKey(ctx context.Context, cfg config.Auth, url string) error {
	if cfg.Auth != config.AuthKeys {
		return nil
	}
	own := config.Keys{RedisURL: config.Secret(url)}
	return WithKeys(ctx, own, func(ctx context.Context, keys *auth.Keys) error {
		some, err := keys.Any(ctx)
		if err != nil || some {
			s.KeysIn = own.RedisURL
			return err
		}
		local := execution.LocalCaller()
		_, text, err := keys.Create(ctx, auth.NewKey{
			Tenant: local.Tenant, Subject: local.Subject, Role: execution.OperateRole, Note: "made by pawl dev",
		})
		s.Key = config.Secret(text)
		return err
	})
}
