package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracerName names what makes the spans.
const tracerName = "github.com/pawl-run/pawl"

// flushTimeout bounds how long the last spans of a program that stops may take to be exported.
const flushTimeout = 5 * time.Second

// Tracing exports spans. The zero value makes none.
type Tracing struct {
	provider *sdk.TracerProvider
}

// NewTracing exports spans by OTLP over HTTP, as the standard OTEL_ variables of the environment say: where to, by
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, how many, by OTEL_TRACES_SAMPLER, and under which name, by
// OTEL_SERVICE_NAME. Without an endpoint, with OTEL_TRACES_EXPORTER=none and with OTEL_SDK_DISABLED=true no spans are made. It
// refuses other exporters and protocols. Close it.
func NewTracing(ctx context.Context, program, version string) (*Tracing, error) {
	wanted, err := wantsTraces(os.Getenv)
	if err != nil || !wanted {
		return &Tracing{}, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	return newTracing(ctx, program, version, sdk.WithBatcher(exporter))
}

// newTracing makes spans for the exporter in the option.
func newTracing(ctx context.Context, program, version string, export sdk.TracerProviderOption) (*Tracing, error) {
	about, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", "pawl-"+program), attribute.String("service.version", version),
	), resource.WithFromEnv(), resource.WithTelemetrySDK())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe the program to traces: %w", err)
	}
	return &Tracing{provider: sdk.NewTracerProvider(sdk.WithResource(about), export)}, nil
}

// wantsTraces reads what the environment says about traces.
func wantsTraces(getenv func(string) string) (bool, error) {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := getenv("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: want otlp or none, have %q", exporter)
	}
	endpoint := getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if endpoint == "" && getenv("OTEL_TRACES_EXPORTER") == "" {
		return false, nil
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf("%s: want http/protobuf (port 4318 of a collector), have %q", name, protocol)
		}
	}
	return true, nil
}

// Tracer makes spans; nil when none are to be made.
func (t *Tracing) Tracer() trace.Tracer {
	if t.provider == nil {
		return nil
	}
	return t.provider.Tracer(tracerName)
}

// Close exports what is left.
func (t *Tracing) Close(ctx context.Context, logger *slog.Logger) {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		logger.WarnContext(ctx, "spans were not exported", "error", err)
	}
}
