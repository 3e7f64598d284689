package dashboard

import (
	"errors"
	"net/http"
	"strings"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

// themeCookie keeps which colors somebody wants.
const themeCookie = "pawl_theme"

// loginForm is the body of the login page.
type loginForm struct {
	Next   string
	Issuer string // what the issuer is called on whose page people may log in; empty: there is none
	Logout string // the issuer's own logout, where it is offered
	Unsent bool   // a form was sent without a session, and not taken
}

// hasLogin reports whether there is something to log in with.
func (p *Pages) hasLogin() bool { return p.cfg.Gate != nil && p.cfg.Gate.Sessions != nil }

func (p *Pages) loginPage(w http.ResponseWriter, r *http.Request) error {
	if !p.hasLogin() {
		http.Redirect(w, r, root+"/", http.StatusSeeOther)
		return nil
	}
	p.showLogin(w, r, http.StatusOK, r.FormValue("next"), nil)
	return nil
}

func (p *Pages) showLogin(w http.ResponseWriter, r *http.Request, status int, next string, problem *problem) {
	page := p.page(r, "Log in", "login")
	page.Problem = problem
	page.Body = loginForm{Next: inside(next), Issuer: p.issuerName(), Logout: p.issuerLogout(r), Unsent: r.URL.Query().Has("unsent")}
	p.show(w, r, status, "login", page)
}

// login takes a credential and gives a session.
func (p *Pages) login(w http.ResponseWriter, r *http.Request) error {
	if !p.hasLogin() {
		return execution.NewAPIError(execution.Forbidden, "this installation has no keys: there is nothing to log in with")
	}
	cookie, _, err := p.cfg.Gate.Login(r, strings.TrimSpace(r.PostForm.Get("key")))
	if err != nil {
		p.refuseLogin(w, r, r.PostForm.Get("next"), err)
		return nil
	}
	http.SetCookie(w, cookie)
	http.Redirect(w, r, inside(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// logout ends the session.
func (p *Pages) logout(w http.ResponseWriter, r *http.Request) error {
	if p.hasLogin() {
		cookie, err := p.cfg.Gate.Sessions.End(r.Context(), r)
		if err != nil {
			return err
		}
		http.SetCookie(w, cookie)
	}
	http.Redirect(w, r, p.loginElsewhere(auth.From(r.Context())), http.StatusSeeOther)
	return nil
}

// theme keeps the colors that somebody wants, and goes back.
func (p *Pages) theme(w http.ResponseWriter, r *http.Request) error {
	want := r.PostForm.Get("theme")
	if want != "light" && want != "dark" {
		want = "auto"
	}
	http.SetCookie(w, &http.Cookie{
		Name: themeCookie, Value: want, Path: root, MaxAge: 365 * 24 * 3600, HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: auth.OverTLS(r),
	})
	http.Redirect(w, r, inside(r.PostForm.Get("next")), http.StatusSeeOther)
	return nil
}

// Refuse answers a request that the guard does not let in: with the login, where that helps.
func (p *Pages) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	p.secure(w)
	switch {
	case !errors.Is(err, execution.ErrUnauthenticated) || !p.hasLogin():
		p.fail(w, r, err)
	case auth.Unsafe(r):
		login := root + "/login"
		if page := pageOf(r.URL.Path); page != r.URL.Path {
			login += "?" + values("next", inside(page), "unsent", "1").Encode()
		}
		http.Redirect(w, r, login, http.StatusSeeOther)
	case r.Header.Get("Sec-Fetch-Site") == "cross-site" && !r.URL.Query().Has("again"):
		p.again(w, r)
	default:
		http.Redirect(w, r, loginAt(r), http.StatusSeeOther)
	}
}

// again is for whoever follows a link in an alert: the browser keeps the session's cookie to itself on the way from another
// site, so the page asks for itself once more from here.
func (p *Pages) again(w http.ResponseWriter, r *http.Request) {
	to := *r.URL
	query := to.Query()
	query.Set("again", "1")
	to.RawQuery = query.Encode()
	p.goOn(w, r, onward{To: to.RequestURI()})
}

// loginAt is the login that leads back to the page.
func loginAt(r *http.Request) string {
	to := *r.URL
	query := to.Query()
	query.Del("again")
	to.RawQuery = query.Encode()
	login := root + "/login"
	if next := inside(to.RequestURI()); next != root+"/" {
		login += "?" + values("next", next).Encode()
	}
	return login
}

// inside is a place among the pages; the overview for any other one.
func inside(place string) string {
	if place == root || !strings.HasPrefix(place, root+"/") || strings.ContainsAny(place, "\\\r\n") ||
		strings.HasPrefix(place, root+"/login") || strings.Contains(place, "..") {
		return root + "/"
	}
	return place
}
