package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/version"
)

const devHelp = `Run API, worker, reaper and the queues' dashboard in one process, to try Pawl or to develop against it.

It works on the Redis of PAWL_REDIS_URL if that is set, else on a redis-server or valkey-server that it finds on PATH and
starts with its data in PAWL_DATA_DIR, else on an embedded one in memory. Without PAWL_AGENTS it has one agent, demo, which calls a tool
and asks a person; --write-agents writes its file out to start from.`

func newDev(s streams) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything on this machine", Args: cobra.NoArgs,
		Long: devHelp + "\n\nThe names of the environment that it obeys:\n\n" + usageOf(&config.Dev{}),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var cfg config.Dev
			if err := config.Load(&cfg); err != nil {
				return wrongUsage("the settings are not right:\n%w", err)
			}
			if file != "" {
				return writeAgents(s, file, cfg)
			}
			return dev(cmd.Context(), s, cfg)
		},
	}
	cmd.Flags().StringVar(&file, "write-agents", "", "write the demo agent's file to `FILE` and do nothing else")
	return cmd
}

// usageOf is the table of the names that settings are read from.
func usageOf(settings any) string {
	var table strings.Builder
	if err := config.Usage(&table, settings); err != nil {
		return err.Error()
	}
	return strings.TrimRight(table.String(), "\n")
}

func dev(ctx context.Context, s streams, cfg config.Dev) error {
	logger := app.NewLogger(s.err, cfg.Log)
	app.AdoptRedisLog(logger)
	logger.InfoContext(ctx, "starting", "program", "dev", "build", version.Read().String())
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err := app.RunDev(ctx, cfg, app.Deps{Logger: logger, Again: app.Hangups(ctx, stop)}, func(started app.Started) { welcome(s, cfg, started) })
	if err != nil && !errors.Is(err, context.Canceled) {
		return &exit{code: exitFailed, err: err}
	}
	return nil
}

// welcome says in three lines what there is, what to open and what to type.
func welcome(s streams, cfg config.Dev, started app.Started) {
	agent := "AGENT"
	if len(started.Agents) > 0 {
		agent = started.Agents[0]
	}
	environment := ""
	if cfg.Addr != "127.0.0.1:8080" {
		environment = "PAWL_URL=" + started.URL + " "
	}
	environment += keyFor(cfg, started)
	_, _ = fmt.Fprintf(s.out, "\nPawl is starting on %s: %s.\nOpen  %s/dashboard/\nType  %s%s submit --watch %s \"Oslo, please\"\n\n",
		started.URL, started.Redis, started.URL, environment, self(), agent) // a closed pipe does not stop it
}

// keyFor is what a command needs in its environment to show a key: the one that was made, as there was none, or a new one.
func keyFor(cfg config.Dev, started app.Started) string {
	if key := started.Key.Reveal(); key != "" {
		return "PAWL_API_KEY=" + key + " "
	}
	if started.KeysIn == "" {
		return ""
	}
	url := ""
	if cfg.RedisURL == "" { // a Redis of dev's own; that of the environment is known, and may have a password
		url = "PAWL_REDIS_URL=" + started.KeysIn.Reveal() + " "
	}
	return fmt.Sprintf("PAWL_API_KEY=$(%s%s keys create --tenant default --subject local --role operate) ", url, self())
}

// writeAgents writes the demo agent's file. It never overwrites one.
func writeAgents(s streams, file string, cfg config.Dev) error {
	out, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return fail("%s exists already: it is left as it is", file)
	}
	if err != nil {
		return fail("%w", err)
	}
	_, err = out.Write(app.DemoAgents(cfg.Addr))
	if err = errors.Join(err, out.Close()); err != nil {
		return fail("write %s: %w", file, err)
	}
	return say(s.out, fmt.Sprintf("Wrote %s. Run it with: PAWL_AGENTS=%s %s dev", file, file, self()))
}
