package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/redis/go-redis/v9"
	"golang.org/x/term"

	"github.com/pawl-run/pawl/internal/config"
	"github.com/pawl-run/pawl/internal/telemetry"
)

// NewLogger makes the program's logger: text on a terminal, else JSON, unless the configuration says which.
func NewLogger(out io.Writer, cfg config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(cfg.Level)}
	format := cfg.Format
	if file, ok := out.(*os.File); format == "" && ok && term.IsTerminal(int(file.Fd())) {
		format = config.LogText
	}
	if format == config.LogText {
		return slog.New(telemetry.Traced(slog.NewTextHandler(out, options)))
	}
	return slog.New(telemetry.Traced(slog.NewJSONHandler(out, options)))
}

// AdoptRedisLog sends what the Redis client has to say of its connections to logger, at level debug: whoever uses a
// connection reports its errors anyway. It changes the whole process, so only programs call it, once.
func AdoptRedisLog(logger *slog.Logger) { redis.SetLogger(redisLog{logger}) }

type redisLog struct{ logger *slog.Logger }

// Printf takes a line of the Redis client.
func (l redisLog) Printf(ctx context.Context, format string, v ...any) {
	if l.logger.Enabled(ctx, slog.LevelDebug) {
		l.logger.DebugContext(ctx, "redis client: "+fmt.Sprintf(format, v...))
	}
}
