package telemetry

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// Remotes measures and traces the requests to remote agents. It satisfies a2a.Observer.
type Remotes struct {
	requests *prometheus.HistogramVec
	agents   *bounded
}

// Remotes registers the measurements of requests to remote agents; programs of one process have the same.
func (m *Metrics) Remotes() *Remotes {
	m.once.Do(func() {
		m.remotes = &Remotes{
			requests: m.seconds("pawl_remote_request_seconds",
				"How long requests to remote agents took, by the code of their error (ok: none); a stream takes as long as it is watched.",
				slow(), "agent", "method", "code"),
			agents: newBounded(),
		}
	})
	return m.remotes
}

// remoteMethod is a method of the protocol as a label has it; what is no method is the request for the agent's card.
func remoteMethod(method string) string {
	switch method {
	case a2arpc.Send:
		return "send"
	case a2arpc.Get:
		return "get"
	case a2arpc.Cancel:
		return "cancel"
	case a2arpc.Resubscribe, a2arpc.Stream:
		return "stream"
	default:
		return "card"
	}
}

// Asking implements a2a.Observer.
func (r *Remotes) Asking(ctx context.Context, agent, method string) (asked context.Context, over func(code string)) {
	began, label := time.Now(), remoteMethod(method)
	name := r.agents.value(agent)
	asked, span := remoteSpan(ctx, name, method)
	return asked, func(code string) {
		if code != outcomeOK {
			failed(span, code)
		}
		span.End()
		r.requests.WithLabelValues(name, label, code).Observe(time.Since(began).Seconds())
	}
}

// remoteSpan opens the span of a request. What tells the remote something invokes the agent; the rest asks about that.
func remoteSpan(ctx context.Context, agent, method string) (context.Context, trace.Span) {
	attributes := []attribute.KeyValue{
		attribute.String("gen_ai.agent.name", agent),
		attribute.String("gen_ai.provider.name", "a2a"),
	}
	name := method + " " + agent
	switch method {
	case a2arpc.Send, a2arpc.Stream:
		name = "invoke_agent " + agent
		attributes = append(attributes, attribute.String("gen_ai.operation.name", "invoke_agent"))
	}
	if remoteMethod(method) != "card" {
		attributes = append(attributes, attribute.String("rpc.system.name", "jsonrpc"),
			attribute.String("jsonrpc.protocol.version", a2arpc.Version), attribute.String("rpc.method", method))
	}
	return begin(ctx, name, trace.SpanKindClient, attributes...)
}
