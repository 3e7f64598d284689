package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
)

const keysHelp = `Make, list and revoke the API keys of an installation. They are kept in its Redis, which these commands talk to; an API asks
for them when it was started with PAWL_AUTH=keys.

The names of the environment that they obey:

`

func newKeys(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use: "keys", Short: "Make, list and revoke API keys", Long: keysHelp + usageOf(&config.Keys{}),
		Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newKeysCreate(s), newKeysList(s), newKeysRevoke(s))
	return cmd
}

// withKeys calls f with the keys of the Redis that the environment names.
func withKeys(ctx context.Context, f func(context.Context, *auth.Keys) error) error {
	var cfg config.Keys
	if err := config.Load(&cfg); err != nil {
		return wrongUsage("%w", err)
	}
	err := app.WithKeys(ctx, cfg, f)
	var coded *exit
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &exit{code: exitInterrupted}
	case errors.As(err, &coded):
		return err
	case errors.Is(err, auth.ErrInvalidKey):
		return wrongUsage("%w", err)
	default:
		return fail("%w", err)
	}
}

// createdKey is what `pawl keys create --json` prints.
type createdKey struct {
	auth.Key
	Text string `json:"key"`
}

func newKeysCreate(s streams) *cobra.Command {
	var asked auth.NewKey
	var role string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create --tenant TENANT --subject SUBJECT --role ROLE", Short: "Make an API key and print it, once",
		Long: "Make an API key. It is printed, and nobody can find it out again: what is stored is its hash.\n\n" +
			"The role submit submits executions, and sees and steers its own; read sees its tenant's; operate submits, and sees\n" +
			"and steers all of its tenant's. The tenant * is the on-call view: with read it sees every tenant's executions and\n" +
			"the queues, with operate it steers them too; it submits none.\n\n" +
			"With --json one value: {id, tenant, subject, role, note?, createdAtMs, expiresAtMs?, key}.",
		Example: asTyped(self(), `  pawl keys create --tenant acme --subject billing --role submit --expires 2160h
  pawl keys create --tenant '*' --subject on-call --role operate`),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			asked.Role = execution.CallerRole(role)
			return withKeys(cmd.Context(), func(ctx context.Context, keys *auth.Keys) error {
				key, text, err := keys.Create(ctx, asked)
				if err != nil {
					return err
				}
				if asJSON {
					return sayJSON(s.out, createdKey{Key: key, Text: text})
				}
				if err := say(s.err, fmt.Sprintf("Key %s of %s in tenant %s, role %s. It is shown this once:",
					key.ID, key.Subject, key.Tenant, key.Role)); err != nil {
					return err
				}
				return say(s.out, text)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&asked.Tenant, "tenant", "", "the tenant whose executions are meant; * for all (required)")
	flags.StringVar(&asked.Subject, "subject", "", "who the key is for: an app, a person (required)")
	flags.StringVar(&role, "role", "", "submit, read or operate (required)")
	flags.DurationVar(&asked.Expires, "expires", 0, "how long it is good, like 2160h; until it is revoked when 0")
	flags.StringVar(&asked.Note, "note", "", "a remark for whoever lists the keys")
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	for _, name := range []string{"tenant", "subject", "role"} {
		_ = cmd.MarkFlagRequired(name) // it exists
	}
	return cmd
}

func newKeysList(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the API keys, without their secrets",
		Long: "List the API keys, the oldest first, also those that are good no longer.\n\n" +
			"With --json each is a line: {id, tenant, subject, role, note?, createdAtMs, expiresAtMs?, revokedAtMs?}.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withKeys(cmd.Context(), func(ctx context.Context, keys *auth.Keys) error {
				all, err := keys.List(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					for _, key := range all {
						if err := sayJSON(s.out, key); err != nil {
							return err
						}
					}
					return nil
				}
				return printKeys(s, all, time.Now())
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printKeys(s streams, all []auth.Key, now time.Time) error {
	var shown table
	shown.row("ID", "TENANT", "SUBJECT", "ROLE", "CREATED", "STATE", "NOTE")
	for _, key := range all {
		shown.row(key.ID, key.Tenant, key.Subject, string(key.Role), instant(key.CreatedAtMs), stateOf(key, now), key.Note)
	}
	return shown.flush(s.out)
}

func stateOf(key auth.Key, now time.Time) string {
	switch {
	case key.RevokedAtMs != 0:
		return "revoked " + instant(key.RevokedAtMs)
	case key.ExpiresAtMs == 0:
		return "good"
	case key.ExpiresAtMs <= now.UnixMilli():
		return "expired " + instant(key.ExpiresAtMs)
	default:
		return "good until " + instant(key.ExpiresAtMs)
	}
}

func newKeysRevoke(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "revoke ID…", Short: "Make API keys good for nothing", Args: cobra.MinimumNArgs(1),
		Long: "Revoke API keys, by the ids that `keys list` prints. Every API refuses them within seconds, and closes the streams\n" +
			"that were opened with them. Revoking a revoked one changes nothing.\n\n" +
			"With --json each is a line, as of `keys list`.",
		Example: asTyped(self(), "  pawl keys revoke k3v7q2mzx4ab"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withKeys(cmd.Context(), func(ctx context.Context, keys *auth.Keys) error {
				for _, id := range args {
					if err := revoke(ctx, s, keys, id, asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func revoke(ctx context.Context, s streams, keys *auth.Keys, id string, asJSON bool) error {
	if strings.HasPrefix(id, "pawl_") {
		return wrongUsage("that is a key itself, and now it stands on the screen: name it by its id, the part between the underscores")
	}
	key, changed, err := keys.Revoke(ctx, id)
	switch {
	case errors.Is(err, auth.ErrNoKey):
		return fail("there is no key %s: `%s keys list` lists them", id, self())
	case err != nil:
		return err
	case asJSON:
		return sayJSON(s.out, key)
	case changed:
		return say(s.out, id+" is revoked")
	default:
		return say(s.out, id+" was revoked already")
	}
}
