package dashboard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/hibiken/asynqmon"
	"github.com/redis/go-redis/v9"
)

// maxShown is the most characters shown of a payload or result.
const maxShown = 2000

// MonitoringConfig configures Monitoring. Redis is required.
type MonitoringConfig struct {
	// Path is where the handler is mounted, as browsers see it; it has no trailing slash. Default "/monitoring".
	Path string
	// Redis is the caller's client; it is never closed here.
	Redis redis.UniversalClient
	// MayChange reports whether the request's sender may change queues and tasks; the pages of whoever may not offer no
	// change, and the attempt is 405. Changes are accepted from pages of the same origin alone. nil: nobody may.
	MayChange func(*http.Request) bool
	// Executions is where the page of an execution is; its id follows, as in "/dashboard/executions/". What is on a page then
	// leads there. Empty: nothing does.
	Executions string
	// Home is where a link on each page leads back to. Empty: there is none.
	Home string
}

// Monitoring is asynqmon under Path. Register it for Path itself and for everything below:
//
//	e.Any("/monitoring", echo.WrapHandler(h))
//	e.Any("/monitoring/*", echo.WrapHandler(h))
//
// The page loads nothing from another host, and may not: it brings its own Content-Security-Policy, which allows its inline
// scripts by their hashes.
func Monitoring(cfg MonitoringConfig) (http.Handler, error) {
	if cfg.Redis == nil {
		return nil, errors.New("dashboard: config Redis is required")
	}
	if cfg.Path == "" {
		cfg.Path = "/monitoring"
	}
	if cfg.Path == "/" || path.Clean(cfg.Path) != cfg.Path || !strings.HasPrefix(cfg.Path, "/") {
		return nil, fmt.Errorf("dashboard: config Path: %q is not an absolute path without trailing slash", cfg.Path)
	}
	if cfg.MayChange == nil {
		cfg.MayChange = func(*http.Request) bool { return false }
	}
	readOnly, whole, more := newMonitoring(cfg, true), newMonitoring(cfg, false), additionsOf(cfg)
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != cfg.Path && !strings.HasPrefix(r.URL.Path, cfg.Path+"/") {
			http.NotFound(w, r)
			return
		}
		answer := &fixed{ResponseWriter: w, path: strings.TrimPrefix(r.URL.Path, cfg.Path), more: more}
		if more.serve(w, answer.path) {
			return
		}
		if cfg.MayChange(r) {
			whole.ServeHTTP(answer, r)
		} else {
			readOnly.ServeHTTP(answer, r)
		}
		answer.finish()
	})
	return http.NewCrossOriginProtection().Handler(pages), nil
}

func newMonitoring(cfg MonitoringConfig, readOnly bool) http.Handler {
	return asynqmon.New(asynqmon.Options{
		RootPath:         cfg.Path,
		RedisConnOpt:     shared{cfg.Redis},
		PayloadFormatter: asynqmon.PayloadFormatterFunc(func(_ string, data []byte) string { return show(data) }),
		ResultFormatter:  asynqmon.ResultFormatterFunc(func(_ string, data []byte) string { return show(data) }),
		ReadOnly:         readOnly,
	})
}

// shared gives asynqmon the caller's client. asynqmon closes it only in its own Close, which is never called.
type shared struct{ client redis.UniversalClient }

// MakeRedisClient is asynq's way to ask for a client.
func (s shared) MakeRedisClient() any { return s.client }

// show makes bytes readable: JSON on one line, other text as it is, anything else as its size; cut when long.
func show(data []byte) string {
	var compact bytes.Buffer
	text := string(data)
	switch {
	case json.Compact(&compact, data) == nil:
		text = compact.String()
	case !utf8.Valid(data):
		return fmt.Sprintf("%d bytes that are not text", len(data))
	}
	if utf8.RuneCountInString(text) > maxShown {
		text = string([]rune(text)[:maxShown]) + "…"
	}
	return text
}
