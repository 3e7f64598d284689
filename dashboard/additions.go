package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strings"
)

//go:embed monitoring
var additionFiles embed.FS

// additions are what Pawl adds to asynqmon's page: a way back in front of it, and behind it a script that leads from tasks to
// executions.
type additions struct {
	head, begin, end string
}

func additionsOf(cfg MonitoringConfig) additions {
	var more additions
	if cfg.Home == "" && cfg.Executions == "" {
		return more
	}
	more.head = fmt.Sprintf(`<link rel="stylesheet" href="%s/pawl/pawl.css">`, cfg.Path)
	if cfg.Home != "" {
		more.begin = fmt.Sprintf(`<nav class="pawl-back" aria-label="Pawl"><a href="%s">← Pawl<span class="more">’s dashboard</span></a></nav>`,
			html.EscapeString(cfg.Home))
	}
	if cfg.Executions != "" {
		more.end = fmt.Sprintf(`<script type="module" src="%s/pawl/executions.js" data-executions="%s"></script>`,
			cfg.Path, html.EscapeString(cfg.Executions))
	}
	return more
}

// serve answers with a file of the additions, if the path below the handler's is that of one.
func (a additions) serve(w http.ResponseWriter, path string) bool {
	kinds := map[string]string{"/pawl/pawl.css": "text/css; charset=utf-8", "/pawl/executions.js": "text/javascript; charset=utf-8"}
	kind, known := kinds[path]
	if !known || a.head == "" {
		return false
	}
	content, err := additionFiles.ReadFile("monitoring/" + strings.TrimPrefix(path, "/pawl/"))
	if err != nil {
		return false
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(content) // a browser that has gone needs no file
	return true
}

var (
	inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)
	bodyBegins   = regexp.MustCompile(`<body[^>]*>`)
)

// addTo puts the additions into the page.
func (a additions) addTo(page string) string {
	page = strings.Replace(page, "</head>", a.head+"</head>", 1)
	if at := bodyBegins.FindStringIndex(page); at != nil {
		page = page[:at[1]] + a.begin + page[at[1]:]
	}
	if at := strings.LastIndex(page, "</body>"); at >= 0 {
		page = page[:at] + a.end + page[at:]
	}
	return page
}

// policyOf is the Content-Security-Policy of asynqmon's page: what is of this origin, and the scripts that are in it. Its styles are
// made by its scripts.
func policyOf(page string) string {
	scripts := "'self'"
	for _, inline := range inlineScript.FindAllStringSubmatch(page, -1) {
		sum := sha256.Sum256([]byte(inline[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + scripts + "; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}
