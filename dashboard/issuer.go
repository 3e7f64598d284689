package dashboard

import (
	"net/http"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
)

const (
	// loginIssuer is where a login at the issuer begins.
	loginIssuer = root + "/login/issuer"
	// loginReturn is where the issuer sends browsers back to.
	loginReturn = root + "/login/callback"
)

// leftIssuer is the value of the parameter left of the login page, for whoever logged out here alone.
const leftIssuer = "issuer"

// onward is the body of a page that goes on by itself.
type onward struct {
	To   string
	Name string // of another site; empty: a page of this one
}

// issuerName is what the issuer is called on whose page people may log in; empty: there is no such login.
func (p *Pages) issuerName() string {
	if !p.hasLogin() {
		return ""
	}
	return p.cfg.Gate.IssuerName()
}

// issuerLogout is the address of the issuer's own logout, for whoever logged out here alone; else empty.
func (p *Pages) issuerLogout(r *http.Request) string {
	if p.issuerName() == "" || r.URL.Query().Get("left") != leftIssuer {
		return ""
	}
	return p.cfg.Gate.IssuerLogout()
}

// loginElsewhere is the login page after a logout of somebody whom the issuer may still know.
func (p *Pages) loginElsewhere(visit *auth.Visit) string {
	if visit.Key != "" || p.issuerName() == "" || p.cfg.Gate.IssuerLogout() == "" {
		return root + "/login"
	}
	return root + "/login?" + values("left", leftIssuer).Encode()
}

// beginLogin leads to the issuer. A page does, not a redirect: the answer to a form may not lead to another site.
func (p *Pages) beginLogin(w http.ResponseWriter, r *http.Request) error {
	if p.issuerName() == "" {
		return execution.NewAPIError(execution.Forbidden, "there is no login on an issuer's page here")
	}
	next := inside(r.PostForm.Get("next"))
	departure, err := p.cfg.Gate.BeginLogin(r, loginReturn, next)
	if err != nil {
		p.refuseLogin(w, r, next, err)
		return nil
	}
	http.SetCookie(w, departure.Cookie)
	p.goOn(w, r, onward{To: departure.To, Name: p.issuerName()})
	return nil
}

// finishLogin takes back whom the issuer sends. A page leads on from here, not a redirect: on the way from another site the
// browser would keep the session's cookie back.
func (p *Pages) finishLogin(w http.ResponseWriter, r *http.Request) error {
	// The address of this page holds a code, which is nobody else's business.
	w.Header().Set("Referrer-Policy", "no-referrer")
	if p.issuerName() == "" {
		return execution.NewAPIError(execution.Forbidden, "there is no login on an issuer's page here")
	}
	arrival, err := p.cfg.Gate.FinishLogin(r, loginReturn)
	if arrival.Spent != nil {
		http.SetCookie(w, arrival.Spent)
	}
	next := inside(arrival.Next)
	if err != nil {
		p.refuseLogin(w, r, next, err)
		return nil
	}
	http.SetCookie(w, arrival.Session)
	p.goOn(w, r, onward{To: next})
	return nil
}

// refuseLogin shows the login with what is wrong.
func (p *Pages) refuseLogin(w http.ResponseWriter, r *http.Request, next string, err error) {
	problem := p.problemOf(r, err)
	retryAfter(w, problem)
	p.showLogin(w, r, problem.Status, next, problem)
}

func (p *Pages) goOn(w http.ResponseWriter, r *http.Request, to onward) {
	page := p.page(r, "One moment", "")
	page.Body = to
	p.show(w, r, http.StatusOK, "again", page)
}
