package upgrade

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A dump is text, one key after the other in the order of their names: a line with type and key, then its content, indented, each
// value as a Go string. It begins with the instant at which it was made.
//
//	at 1796036000000
//	hash "pawl:{p07}:x:exec_07…"
//	  "state" "queued"
//	list "pawl:{p07}:x:exec_07…:events"
//	  "1796035999000 q"
//	zset "pawl:{p07}:due"
//	  1796036004000 "exec_07…"
//	string "pawl:worker:…" expires 15000
//	  "{…}"
const dumpBegins = "at "

// writeDump writes everything that Redis holds.
func writeDump(ctx context.Context, rdb redis.UniversalClient, out io.Writer) error {
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	keys, err := rdb.Keys(ctx, "*").Result()
	if err != nil {
		return err
	}
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s%d\n", dumpBegins, now.UnixMilli())
	for _, key := range slices.Sorted(slices.Values(keys)) {
		if strings.HasPrefix(key, "asynq:servers") || key == "asynq:workers" { // who was there: Asynq's own, and gone in seconds
			continue
		}
		if err := writeKey(ctx, rdb, w, key); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	_, err = io.WriteString(out, w.String())
	return err
}

func writeKey(ctx context.Context, rdb redis.UniversalClient, w *strings.Builder, key string) error {
	kind, err := rdb.Type(ctx, key).Result()
	if err != nil {
		return err
	}
	left, err := rdb.PTTL(ctx, key).Result()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%s %s", kind, strconv.QuoteToASCII(key))
	if left > 0 {
		fmt.Fprintf(w, " expires %d", left.Milliseconds())
	}
	w.WriteByte('\n')
	lines, err := contentOf(ctx, rdb, kind, key)
	for _, line := range lines {
		fmt.Fprintf(w, "  %s\n", line)
	}
	return err
}

func contentOf(ctx context.Context, rdb redis.UniversalClient, kind, key string) (lines []string, err error) {
	quote := strconv.QuoteToASCII
	switch kind {
	case "string":
		value, err := rdb.Get(ctx, key).Result()
		return []string{quote(value)}, err
	case "hash":
		fields, err := rdb.HGetAll(ctx, key).Result()
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			lines = append(lines, quote(name)+" "+quote(fields[name]))
		}
		return lines, err
	case "list":
		values, err := rdb.LRange(ctx, key, 0, -1).Result()
		for _, value := range values {
			lines = append(lines, quote(value))
		}
		return lines, err
	case "set":
		members, err := rdb.SMembers(ctx, key).Result()
		for _, member := range slices.Sorted(slices.Values(members)) {
			lines = append(lines, quote(member))
		}
		return lines, err
	case "zset":
		entries, err := rdb.ZRangeWithScores(ctx, key, 0, -1).Result()
		for _, entry := range entries {
			lines = append(lines, strconv.FormatFloat(entry.Score, 'f', -1, 64)+" "+quote(entry.Member.(string)))
		}
		return lines, err
	default:
		return nil, fmt.Errorf("type %q is not expected", kind)
	}
}

// instants are the numbers of a dump that are times: seconds, milliseconds and nanoseconds of these years.
var instants = regexp.MustCompile(`\b1[78]\d{8}(\d{3}|\d{9})?\b`)

// shifted moves every time in a text on by so many seconds. A fixture has no other numbers that look like them.
func shifted(text string, seconds int64) string {
	return instants.ReplaceAllStringFunc(text, func(number string) string {
		at, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return number
		}
		return strconv.FormatInt(at+seconds*int64(math.Pow10(len(number)-len("1796036000"))), 10)
	})
}

// load puts a dump into an empty Redis as if it had been made a while ago, and no longer: so many seconds have passed since, to
// whatever waits for a time.
func load(ctx context.Context, rdb redis.UniversalClient, dump string, ago time.Duration) error {
	first, rest, _ := strings.Cut(dump, "\n")
	at, err := strconv.ParseInt(strings.TrimPrefix(first, dumpBegins), 10, 64)
	if err != nil {
		return fmt.Errorf("first line %q: %w", first, err)
	}
	now, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	by := now.Add(-ago).Unix() - at/1000
	pipe := rdb.Pipeline()
	var kind, key string
	expiries := map[string]time.Duration{}
	for line := range strings.Lines(rest) {
		line = strings.TrimSuffix(line, "\n")
		content, inside := strings.CutPrefix(line, "  ")
		if inside {
			err = put(ctx, pipe, kind, key, content, by)
		} else {
			kind, key, err = header(line, expiries)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	for key, left := range expiries {
		pipe.PExpire(ctx, key, left)
	}
	_, err = pipe.Exec(ctx)
	return err
}

// header reads a line that begins a key, and notes when the key goes.
func header(line string, expiries map[string]time.Duration) (kind, key string, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", "", fmt.Errorf("%q: %w", line, err)
	}
	if key, err = strconv.Unquote(quoted); err != nil {
		return "", "", err
	}
	if _, left, expires := strings.Cut(rest[len(quoted):], " expires "); expires {
		ms, err := strconv.ParseInt(left, 10, 64)
		if err != nil {
			return "", "", err
		}
		expiries[key] = time.Duration(ms) * time.Millisecond
	}
	return kind, key, nil
}

// put sends one line of a key's content, its times moved on.
func put(ctx context.Context, pipe redis.Pipeliner, kind, key, line string, by int64) error {
	var score float64
	if kind == "zset" {
		number, rest, _ := strings.Cut(line, " ")
		var err error
		if score, err = strconv.ParseFloat(shifted(number, by), 64); err != nil {
			return err
		}
		line = rest
	}
	var values []any
	for line != "" {
		quoted, err := strconv.QuotedPrefix(line)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return err
		}
		values = append(values, shifted(value, by))
		line = strings.TrimPrefix(line[len(quoted):], " ")
	}
	if len(values) != cmp.Or(map[string]int{"hash": 2}[kind], 1) {
		return fmt.Errorf("%d values in a line of a %s", len(values), kind)
	}
	switch kind {
	case "string":
		pipe.Set(ctx, key, values[0], 0)
	case "hash":
		pipe.HSet(ctx, key, values...)
	case "list":
		pipe.RPush(ctx, key, values...)
	case "set":
		pipe.SAdd(ctx, key, values...)
	case "zset":
		pipe.ZAdd(ctx, key, redis.Z{Score: score, Member: values[0]})
	}
	return nil
}
