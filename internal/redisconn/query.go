package redisconn

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (t *Target) readQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("redis URL: the options after ? cannot be read")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if err := t.readOption(name, values.Get(name)); err != nil {
			return err
		}
	}
	return nil
}

func (t *Target) readOption(name, value string) error {
	switch name {
	case "db":
		return t.readDB(value)
	case "dial_timeout":
		return readDuration(name, value, &t.DialTimeout)
	case "read_timeout":
		return readDuration(name, value, &t.ReadTimeout)
	case "write_timeout":
		return readDuration(name, value, &t.WriteTimeout)
	case "pool_size":
		size, err := strconv.Atoi(value)
		if err != nil || size < 1 {
			return fmt.Errorf("redis URL: pool_size: want a whole number above 0, have %q", value)
		}
		t.PoolSize = size
	case "sentinel_username":
		t.SentinelUsername = value
	case "sentinel_password":
		t.SentinelPassword = value
	case "tls":
		return readBool(name, value, &t.TLS)
	case "tls_skip_verify":
		return readBool(name, value, &t.SkipVerify)
	default:
		return fmt.Errorf("redis URL: unknown option %q", name)
	}
	return nil
}

func readDuration(name, value string, into *time.Duration) error {
	d, err := time.ParseDuration(value)
	if err != nil || d < 10*time.Millisecond {
		return fmt.Errorf("redis URL: %s: want a duration of at least 10ms, have %q", name, value)
	}
	*into = d
	return nil
}

func readBool(name, value string, into *bool) error {
	b, err := strconv.ParseBool(value)
	if err != nil {
		return fmt.Errorf("redis URL: %s: want true or false, have %q", name, value)
	}
	*into = b
	return nil
}

// Redact is the URL without password and options, for logs and errors. Of one that Parse refuses nothing is shown: nobody
// knows where in it a password is.
func Redact(raw string) string {
	if _, err := Parse(raw); err != nil {
		return "[redacted]"
	}
	scheme, rest, _ := strings.Cut(raw, "://")
	rest, _, _ = strings.Cut(rest, "?")
	authority, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = "[redacted]@" + authority[at+1:]
	}
	if hasPath {
		authority += "/" + path
	}
	return scheme + "://" + authority
}
