package app

import (
	"log/slog"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/client"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/backend/local/human"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/internal/telemetry"
	"github.com/pawl-run/pawl/internal/version"
)

// outside is how a worker's steps reach other programs: tools and remote agents.
type outside struct {
	tools   *httptool.Client
	servers *mcptool.Servers
	remotes *remotes
}

// newOutside opens nothing yet. Close it.
func newOutside(metrics *telemetry.Metrics, logger *slog.Logger) (*outside, error) {
	tools, err := httptool.NewClient(httptool.Config{})
	if err != nil {
		return nil, err
	}
	servers, err := mcptool.NewServers(mcptool.Config{Version: version.Read().Version, Logger: logger})
	if err != nil {
		return nil, err
	}
	far, err := newRemotes(metrics, logger)
	if err != nil {
		servers.Close()
		return nil, err
	}
	return &outside{tools: tools, servers: servers, remotes: far}, nil
}

func (o *outside) close() {
	o.remotes.Close()
	o.servers.Close()
	o.tools.Close()
}

// newKits builds what agents work with: models and tools of every kind, measured, also for the agents that run inside calls.
func newKits(out *outside, metrics *telemetry.Metrics, maxDepth int) (local.Builder, error) {
	models, err := modelFactories()
	if err != nil {
		return nil, err
	}
	delegates, agents, err := newInside()
	if err != nil {
		return nil, err
	}
	builder, err := local.NewBuilder(local.BuilderConfig{
		Models: models,
		Tools: map[agent.ToolType]local.ToolFactory{
			agent.ToolHTTP: out.tools.Factory, agent.ToolHuman: human.Factory, agent.ToolMCP: out.servers.Factory,
			agent.ToolClient: client.Factory, agent.ToolAgent: agents.Factory,
		},
	})
	if err != nil {
		return nil, err
	}
	kits := metrics.Calls(builder)
	return kits, delegates.use(kits, out.remotes, maxDepth)
}
