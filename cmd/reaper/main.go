// Reaper brings back executions that nobody works on. It is configured by the environment; -h lists the names.
package main

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
)

func main() {
	var cfg config.Reaper
	os.Exit(app.Main(app.Program{
		Name:    "reaper",
		Purpose: "Brings back executions that nobody works on, and deletes those whose time is over. Any number may run.",
		Config:  &cfg,
		Log:     func() config.Log { return cfg.Log },
		Run:     func(ctx context.Context, deps app.Deps) error { return app.RunReaper(ctx, cfg, deps) },
	}, os.Args[1:], os.Stdout, os.Stderr))
}
