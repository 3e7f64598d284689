// Worker runs the steps of executions. It is configured by the environment; -h lists the names.
package main

import (
	"context"
	"os"

	"github.com/pawl-run/pawl/internal/app"
	"github.com/pawl-run/pawl/internal/config"
)

func main() {
	var cfg config.Worker
	os.Exit(app.Main(app.Program{
		Name: "worker",
		Purpose: "Runs the steps of executions: models and tools. Any number may run; on SIGTERM it finishes or hands back\n" +
			"what it runs.",
		Config: &cfg,
		Log:    func() config.Log { return cfg.Log },
		Run:    func(ctx context.Context, deps app.Deps) error { return app.RunWorker(ctx, cfg, deps) },
	}, os.Args[1:], os.Stdout, os.Stderr))
}
