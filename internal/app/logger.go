package app

import (
	"io"
	"log/slog"
	"os"

	"golang.org/x/term"

	"github.com/pawl-run/pawl/internal/config"
)

// NewLogger makes the program's logger: text on a terminal, else JSON, unless the configuration says which.
func NewLogger(out io.Writer, cfg config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(cfg.Level)}
	format := cfg.Format
	if file, ok := out.(*os.File); format == "" && ok && term.IsTerminal(int(file.Fd())) {
		format = config.LogText
	}
	if format == config.LogText {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}
