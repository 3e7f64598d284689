package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi/openapi"
	"github.com/pawl-run/pawl/link"
)

// Runtime gives the link of a caller. *link.Service satisfies it.
type Runtime interface {
	As(authority execution.Authority) link.RuntimeLink
}

// Readiness is what /readyz says about what the API stands on.
type Readiness struct {
	Redis      any    `json:"redis,omitempty"`      // what was found out about it; shown to those who may come in
	Durability string `json:"durability,omitempty"` // how durable a written step is
}

// Config is what a Server is made of.
type Config struct {
	Link Runtime // required
	// Ready asks what the API stands on; an error makes /readyz 503. nil: always ready.
	Ready func(context.Context) (Readiness, error)
	// Access decides who comes in. nil: by Authenticate.
	Access Access
	// Authenticate names the caller of a request, where there is no Access; its errors are *execution.APIError. nil:
	// everybody is the local operator, and only loopback names and pages of the same origin or of Origins are served.
	Authenticate func(*http.Request) (execution.Authority, error)
	// Origins are those whose pages may read what is under /v1 and of the Face, exactly as browsers name them, like https://app.example.com;
	// * stands for all. Cookies are not taken from them.
	Origins []string
	// Recheck is how often the credential of a caller with an open stream or wait is looked at again. Default 3s.
	Recheck time.Duration
	// Monitoring is served at /monitoring and below, with the path unchanged. nil: not served.
	Monitoring http.Handler
	// Dashboard is served at /dashboard and below, with the path unchanged. nil: not served.
	Dashboard Dashboard
	// Face is what the agents of others see. nil: nothing.
	Face Face
	// Metrics is served at /metrics, to callers who may look at what is nobody's alone. nil: not served.
	Metrics http.Handler
	// Tracer makes the spans of requests. nil: none are made; what a request belongs to is known all the same.
	Tracer trace.Tracer
	// Observer is told how requests went. nil: nobody is.
	Observer Observer
	// MaxBody bounds a request's body, in bytes. Default 1 MiB.
	MaxBody int64
	// MaxStreams bounds the requests that one caller holds open at this server: streams, waits and requests to the Face. 0: no
	// bound.
	MaxStreams int
	// BodyTimeout bounds how long a client may take to send a body. Default 30s.
	BodyTimeout time.Duration
	// Heartbeat is how often an idle stream sends a comment. Default 5s.
	Heartbeat time.Duration
	// WriteTimeout bounds how long a client may take to accept what is written. Default 30s.
	WriteTimeout time.Duration
	// Version is the program's, for /readyz.
	Version string
	Logger  *slog.Logger // nil: slog.Default()
}

func (c Config) withDefaults() (Config, error) {
	if c.Link == nil {
		return c, errors.New("httpapi: Link is required")
	}
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	if c.MaxBody < 0 {
		return c, fmt.Errorf("httpapi: MaxBody must be positive, is %d", c.MaxBody)
	}
	if c.MaxStreams < 0 {
		return c, fmt.Errorf("httpapi: MaxStreams must not be negative, is %d", c.MaxStreams)
	}
	durations := []struct {
		name  string
		value *time.Duration
		def   time.Duration
	}{
		{"BodyTimeout", &c.BodyTimeout, 30 * time.Second},
		{"Heartbeat", &c.Heartbeat, 5 * time.Second},
		{"WriteTimeout", &c.WriteTimeout, 30 * time.Second},
		{"Recheck", &c.Recheck, 3 * time.Second},
	}
	for _, d := range durations {
		if *d.value == 0 {
			*d.value = d.def
		}
		if *d.value < 0 {
			return c, fmt.Errorf("httpapi: %s must be positive, is %v", d.name, *d.value)
		}
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) (Readiness, error) { return Readiness{}, nil }
	}
	if c.Observer == nil {
		c.Observer = nobody{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c.withAccess()
}

// Server is the API as a handler. It sets deadlines of its own for each body and each write, so the http.Server around
// it needs ReadHeaderTimeout and IdleTimeout only; WriteTimeout would cut streams. Call Drain before its Shutdown. It is
// safe for concurrent use.
type Server struct {
	cfg  Config
	echo *echo.Echo
	held held
	// stopping ends when the server drains: streams and waits are then answered and closed.
	stopping context.Context
	drain    context.CancelFunc
	// description joins the API's own document when it is first asked for.
	description func() (*openapi.Document, error)
}

// New makes a Server. The error names the field that is wrong.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, echo: echo.New(), description: sync.OnceValues(openapi.Load)}
	s.stopping, s.drain = context.WithCancel(context.Background())
	s.echo.HTTPErrorHandler = s.fail
	s.echo.Use(s.observe, s.guard)
	s.routes()
	return s, nil
}

func (s *Server) routes() {
	s.runtimeRoutes()
	s.faceRoutes()
	e := s.echo
	e.GET(pathDocument, s.document)
	e.GET(pathReference, s.reference)
	e.GET(pathReference+"/style.css", s.referenceStyle)
	e.GET(pathLive, s.live)
	e.HEAD(pathLive, s.live)
	e.GET(pathReady, s.ready)
	e.HEAD(pathReady, s.ready)
	if s.cfg.Metrics != nil {
		e.GET(pathMetrics, s.metrics)
	}
	if s.cfg.Monitoring != nil {
		e.Any(pathMonitoring, s.monitoring)
		e.Any(pathMonitoring+"/*", s.monitoring)
	}
	if s.cfg.Dashboard != nil {
		e.Any(pathDashboard, s.pages)
		e.Any(pathDashboard+"/*", s.pages)
	}
}

// runtimeRoutes are the calls of the API proper.
func (s *Server) runtimeRoutes() {
	e := s.echo
	e.POST("/v1/executions", s.create)
	e.GET("/v1/executions", s.list)
	e.GET("/v1/executions/:id", s.get)
	e.GET("/v1/executions/:id/events", s.events)
	e.GET("/v1/executions/:id/blobs/:hash", s.blob)
	e.GET("/v1/executions/:id/messages", s.messages)
	e.GET("/v1/executions/:id/checkpoints", s.checkpoints)
	e.GET("/v1/executions/:id/tool-calls", s.toolCalls)
	e.GET("/v1/executions/:id/why", s.why)
	e.POST("/v1/executions/:id/input", s.input)
	e.POST("/v1/executions/:id/cancel", s.cancel)
	e.POST("/v1/executions/:id/pause", s.pause)
	e.POST("/v1/executions/:id/resume", s.resume)
	e.POST("/v1/executions/:id/release", s.release)
	e.DELETE("/v1/executions/:id", s.remove)
	e.POST("/v1/executions/bulk", s.bulk)
	e.POST("/v1/executions/:id/fork", s.fork)
	e.POST("/v1/executions/:id/stream-token", s.streamToken)
	e.GET("/v1/events", s.everything)
	e.GET("/v1/agents", s.agents)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.echo.ServeHTTP(w, r) }

// Drain ends streams and waits, so that their clients come back, to another replica. It is final; /readyz is 503 from
// here on.
func (s *Server) Drain() { s.drain() }
