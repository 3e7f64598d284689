// Api serves Pawl's HTTP API. It is configured by the environment; -h lists the names.
package main

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
)

func main() {
	var cfg config.API
	os.Exit(app.Main(app.Program{
		Name:    "api",
		Purpose: "Serves Pawl's HTTP API: submissions, views, events, input, cancel, pause, resume; the queues at /monitoring.",
		Config:  &cfg,
		Log:     func() config.Log { return cfg.Log },
		Run:     func(ctx context.Context, deps app.Deps) error { return app.RunAPI(ctx, cfg, deps) },
	}, os.Args[1:], os.Stdout, os.Stderr))
}
