package config

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
)

// Secret is a value that prints redacted. Reveal gives the value itself.
type Secret string

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[redacted]"
}

// GoString hides the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the value, in JSON too.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Reveal is the value.
func (s Secret) Reveal() string { return string(s) }

// LogLevel is a level of slog.
type LogLevel slog.Level

// Decode reads debug, info, warn or error.
func (l *LogLevel) Decode(value string) error {
	switch value {
	case "debug":
		*l = LogLevel(slog.LevelDebug)
	case "info":
		*l = LogLevel(slog.LevelInfo)
	case "warn":
		*l = LogLevel(slog.LevelWarn)
	case "error":
		*l = LogLevel(slog.LevelError)
	default:
		return fmt.Errorf("want debug, info, warn or error, have %q", value)
	}
	return nil
}

// LogFormat is text or json; empty leaves the choice to the program.
type LogFormat string

// The formats of the log.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

// Decode reads text or json.
func (f *LogFormat) Decode(value string) error {
	switch LogFormat(value) {
	case LogText, LogJSON:
		*f = LogFormat(value)
		return nil
	default:
		return fmt.Errorf("want text or json, have %q", value)
	}
}

// Size is a number of bytes.
type Size int64

// Decode reads a whole number of bytes with an optional unit: B, KiB, MiB or GiB.
func (s *Size) Decode(value string) error {
	digits, unit := value, int64(1)
	for _, known := range []struct {
		suffix string
		bytes  int64
	}{{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"B", 1}} {
		if before, ok := strings.CutSuffix(value, known.suffix); ok {
			digits, unit = strings.TrimSpace(before), known.bytes
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 1 || n > (1<<62)/unit {
		return fmt.Errorf("want a size such as 1048576, 512KiB or 1MiB, have %q", value)
	}
	*s = Size(n * unit)
	return nil
}
