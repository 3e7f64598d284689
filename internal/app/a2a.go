package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"

	"github.com/pawl-run/pawl/httpapi"
	"github.com/pawl-run/pawl/httpapi/a2a"
	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/version"
	"github.com/pawl-run/pawl/link"
)

// newFace is what the agents of others see, and what must run for that. It is nil when they see nothing.
func newFace(
	b *base, service *link.Service, catalog link.Catalog, cfg config.API, deps Deps,
) (face httpapi.Face, run func(context.Context) error, err error) {
	if !cfg.Published {
		return nil, idle, nil
	}
	addr := cfg.Addr
	if deps.Listener != nil {
		addr = deps.Listener.Addr().String()
	}
	local := loopbackAddress(addr)
	address := cfg.FaceURL
	if address == "" {
		if address = "http://" + addr; !local {
			return nil, nil, errors.New("PAWL_A2A_URL is required: PAWL_HTTP_ADDR is no loopback address, and others must know how to reach it")
		}
	}
	if cfg.FaceAgent != "" {
		if d, known := catalog.Agent(cfg.FaceAgent); !known || d.Publish == nil {
			return nil, nil, fmt.Errorf("PAWL_A2A_AGENT: no agent %q is published", cfg.FaceAgent)
		}
	}
	made, err := a2a.New(a2a.Config{
		Link: service, Catalog: catalog, URL: address, Agent: cfg.FaceAgent, Secured: cfg.Auth.Auth == config.AuthKeys,
		Pushes: b.store, PushAllow: cfg.PushAllow, PushLocal: local && loopbackURL(address), Version: version.Read().Version, Logger: deps.Logger,
	})
	if err != nil {
		return nil, nil, err
	}
	return made, made.Run, nil
}

// loopbackURL reports whether an address is that of this machine. An API on the loopback that others know by another one stands
// behind a proxy: its callers are not of this machine, and must not reach by it what else listens here.
func loopbackURL(address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && loopbackAddress(net.JoinHostPort(parsed.Hostname(), "0"))
}

// tellPublished says which agents others see, and warns when there are none though there should be.
func tellPublished(ctx context.Context, logger *slog.Logger, catalog link.Catalog, wanted bool) {
	if !wanted {
		return
	}
	var published []string
	for _, name := range catalog.Names() {
		if d, known := catalog.Agent(name); known && d.Publish != nil {
			published = append(published, name)
		}
	}
	if len(published) == 0 {
		logger.WarnContext(ctx, "PAWL_A2A is set and no agent is published: none has publish in its file")
		return
	}
	logger.InfoContext(ctx, "showing agents to the agents of others", "path", a2a.PathRoot, "agents", published)
}

// loopbackAddress reports whether only this machine reaches an address.
func loopbackAddress(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
