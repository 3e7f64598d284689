package dashboard

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

//go:embed templates
var templateFiles embed.FS

// views are the pages' templates by name.
type views map[string]*template.Template

// page is what every page shows around its own part.
type page struct {
	Title, Nav string
	Theme      string // auto, light or dark
	Here       string // the page's own address, for whoever comes back to it
	Caller     execution.CallerScope
	Role       execution.CallerRole
	LoggedIn   bool // by a session that can be ended
	Oversees   bool
	Monitoring bool
	Version    string
	NowMs      int64
	Note       string // what was done
	Problem    *problem
	Live       *live
	Body       any
}

// live is the stream that the page follows.
type live struct {
	URL    string // empty: there is none, and the page is looked at again
	Types  string // of events and frames, with spaces between
	PaceMs int    // the least time between two looks at the page
	// AgainMs is the time until the page is looked at although the stream says nothing; 0: it is not.
	AgainMs int
}

// names of the views, each with a file of its own.
func viewNames() []string {
	return []string{
		"overview", "executions", "execution", "messages", "tools", "checkpoints", "conversation", "conversations", "workers", "agents",
		"login", "again", "problem",
	}
}

func loadViews(files assets) (views, error) {
	all := views{}
	common, err := template.New("").Funcs(functions(files)).ParseFS(templateFiles, "templates/layout.html", "templates/parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout: %w", err)
	}
	for _, name := range viewNames() {
		view, err := common.Clone()
		if err == nil {
			view, err = view.ParseFS(templateFiles, "templates/"+name+".html")
		}
		if err != nil {
			return nil, fmt.Errorf("parse the page %s: %w", name, err)
		}
		all[name] = view
	}
	return all, nil
}

// page fills in what is the same on every page.
func (p *Pages) page(r *http.Request, title, nav string) *page {
	visit := auth.From(r.Context())
	_, err := r.Cookie(auth.SessionCookie)
	here := *r.URL
	query := here.Query()
	query.Del("done")
	query.Del("again")
	here.RawQuery = query.Encode()
	if strings.HasPrefix(here.Path, root+"/login/") { // what the issuer sent is shown nowhere
		here.Path, here.RawQuery = root+"/login", ""
	}
	if r.Method != http.MethodGet { // a form that was refused: its own address shows nothing
		here.Path, here.RawQuery = pageOf(here.Path), ""
	}
	return &page{
		Title: title, Nav: nav, Theme: themeOf(r), Here: here.RequestURI(),
		Caller: visit.Authority.Caller, Role: visit.Authority.Role,
		LoggedIn: p.hasLogin() && err == nil && visit.Authority.Role != "", Oversees: visit.Oversees(),
		Monitoring: p.cfg.Monitoring, Version: p.cfg.Version, NowMs: p.now().UnixMilli(),
		Note: notes()[r.URL.Query().Get("done")],
	}
}

// pageOf is the page with the form that is sent to the path.
func pageOf(path string) string {
	if at, ok := strings.CutPrefix(path, root+"/executions/"); ok {
		id, _, _ := strings.Cut(at, "/")
		return root + "/executions/" + id
	}
	return path
}

func themeOf(r *http.Request) string {
	if cookie, err := r.Cookie(themeCookie); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		return cookie.Value
	}
	return "auto"
}

// show answers with a page, whole or not at all.
func (p *Pages) show(w http.ResponseWriter, r *http.Request, status int, view string, page *page) {
	var text bytes.Buffer
	if err := p.views[view].ExecuteTemplate(&text, "layout", page); err != nil {
		p.cfg.Logger.ErrorContext(r.Context(), "a page failed", "page", view, "error", err)
		http.Error(w, "the page cannot be shown; the server's log has more", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes()) // a browser that has gone needs no page
}

// values is a query of name and value pairs; pairs without a value are left out.
func values(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
