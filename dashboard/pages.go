package dashboard

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// root is where the pages are, as browsers see them.
const root = "/dashboard"

// maxForm bounds the body of a form, in bytes: an input of the largest size that the API takes, escaped.
const maxForm = 4 << 20

// Runtime gives the link of a caller. *link.Service satisfies it.
type Runtime interface {
	As(authority execution.Authority) link.RuntimeLink
}

// PagesConfig configures NewPages.
type PagesConfig struct {
	Link Runtime // required
	// Facts is the installation. nil: the pages show executions and agents alone.
	Facts Facts
	// Gate logs browsers in. nil, or a gate without keys: there is nothing to log in with, and nobody is asked to.
	Gate *auth.Gate
	// Monitoring says that Asynq's pages are served at /monitoring.
	Monitoring bool
	Version    string
	Logger     *slog.Logger // nil: slog.Default()
}

// Pages serves the pages under /dashboard. The request's context carries the visit (auth.With). It is safe for concurrent
// use.
type Pages struct {
	cfg    PagesConfig
	mux    *http.ServeMux
	views  views
	assets assets
	now    func() time.Time
}

// NewPages makes Pages. The error names the field that is wrong.
func NewPages(cfg PagesConfig) (*Pages, error) {
	if cfg.Link == nil {
		return nil, errors.New("dashboard: config Link is required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	p := &Pages{cfg: cfg, mux: http.NewServeMux(), now: time.Now}
	var err error
	if p.assets, err = loadAssets(); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	if p.views, err = loadViews(p.assets); err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	p.routes()
	return p, nil
}

func (p *Pages) routes() {
	get := func(path string, h handler) { p.mux.Handle("GET "+root+path, p.handle(h)) }
	post := func(path string, h handler) { p.mux.Handle("POST "+root+path, p.handle(h)) }
	get("/{$}", p.overview)
	p.mux.Handle("GET "+root, http.RedirectHandler(root+"/", http.StatusSeeOther))
	get("/executions", p.executions)
	get("/executions/{id}", p.execution)
	get("/executions/{id}/messages", p.messages)
	get("/executions/{id}/tools", p.tools)
	get("/executions/{id}/checkpoints", p.checkpoints)
	get("/conversations", p.conversations)
	get("/conversations/{id}", p.conversation)
	get("/find", p.find)
	get("/workers", p.workers)
	get("/agents", p.agents)
	get("/login", p.loginPage)
	post("/login", p.login)
	p.mux.Handle("POST "+loginIssuer, p.handle(p.beginLogin))
	p.mux.Handle("GET "+loginReturn, p.handle(p.finishLogin))
	post("/logout", p.logout)
	post("/theme", p.theme)
	for verb, do := range p.verbs() {
		post("/executions/{id}/"+verb, p.act(do))
	}
	p.mux.Handle("GET "+root+"/assets/{name}", p.assets)
	p.mux.Handle("/", p.handle(func(http.ResponseWriter, *http.Request) error {
		return execution.NewAPIError(execution.NotFound, "there is no such page")
	}))
}

// ServeHTTP answers one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.secure(w)
	p.mux.ServeHTTP(w, r)
}

// secure sets the headers of every page: it loads what is of this origin, has no script or style in its text, and is in
// nobody's frame or cache.
func (p *Pages) secure(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	// A form that is sent without a referrer says that it comes from nowhere, and would be refused.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// Public reports whether everybody may have the path: the login, and what the pages are made of.
func (p *Pages) Public(path string) bool {
	return path == root+"/login" || path == loginIssuer || path == loginReturn || strings.HasPrefix(path, root+"/assets/")
}

// handler answers a request, or says why it does not.
type handler func(w http.ResponseWriter, r *http.Request) error

// handle checks where a form comes from, and shows errors.
func (p *Pages) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if auth.Unsafe(r) {
			if !auth.SameOrigin(r) {
				p.fail(w, r, execution.NewAPIError(execution.Forbidden, "only pages of this origin may change something").In("Origin"))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxForm)
			if err := r.ParseForm(); err != nil {
				p.fail(w, r, execution.NewAPIError(execution.InvalidRequest, "the form cannot be read").In("body").Because(err))
				return
			}
		}
		if err := h(w, r); err != nil {
			p.fail(w, r, err)
		}
	})
}

// link is the runtime as the request's sender sees it.
func (p *Pages) link(r *http.Request) link.RuntimeLink {
	return p.cfg.Link.As(auth.From(r.Context()).Authority)
}
