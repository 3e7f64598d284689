package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pawl-run/pawl/execution"
)

// functions are what the templates call.
func functions(files assets) template.FuncMap {
	return template.FuncMap{
		"asset": func(name string) string { return files.paths[name] },
		"age":   age, "at": at, "iso": iso, "ms": duration, "short": short, "words": words, "json": pretty, "micros": micros,
		"cut": cut, "count": thousands, "states": execution.States, "at2": pair, "rows": rowsOf, "many": many, "plain": plain, "brief": brief, "waits": waits,
		"ago": func(nowMs, ms int64) string { return age(nowMs - ms) },
	}
}

// notes are what a page says after an action, by the word in its address.
func notes() map[string]string {
	return map[string]string{
		"cancel":    "Cancel is requested: what runs is stopped, and nothing starts after it.",
		"pause":     "Pause is requested: the execution is suspended when the node in flight has ended.",
		"resume":    "The execution goes on.",
		"release":   "The claim was taken from its holder; the step is runnable again.",
		"delete":    "The execution was deleted.",
		"answer":    "The answer was taken.",
		"fork":      "This is the fork: it goes on from the checkpoint in a conversation of its own.",
		"unchanged": "There was nothing to do: the execution is as it was.",
	}
}

// age is a span of time for people: its two largest parts at most.
func age(ms int64) string {
	switch {
	case ms < 1000:
		return "0s"
	case ms < 60_000:
		return fmt.Sprintf("%ds", ms/1000)
	case ms < 3_600_000:
		return fmt.Sprintf("%dm %ds", ms/60_000, ms/1000%60)
	case ms < 86_400_000:
		return fmt.Sprintf("%dh %dm", ms/3_600_000, ms/60_000%60)
	default:
		return fmt.Sprintf("%dd %dh", ms/86_400_000, ms/3_600_000%24)
	}
}

// duration is a span of time to the millisecond where that says something.
func duration(ms int64) string {
	switch {
	case ms < 1000:
		return strconv.FormatInt(ms, 10) + " ms"
	case ms < 60_000:
		return strconv.FormatFloat(float64(ms)/1000, 'f', 1, 64) + " s"
	default:
		return age(ms)
	}
}

func at(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC") }

func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

// short is an id by its beginning and its end, which tell it from others.
func short(id any) string {
	text := fmt.Sprint(id)
	if len(text) <= 18 {
		return text
	}
	return text[:7] + "…" + text[len(text)-6:]
}

// many is a number of things.
func many(n any, thing string) string {
	text := thousands(n)
	if text == "1" {
		return text + " " + thing
	}
	return text + " " + thing + "s"
}

// words is an enum value for people.
func words(value any) string { return strings.ReplaceAll(fmt.Sprint(value), "_", " ") }

// pretty indents JSON; what is none, or so deep that the spaces would be most of it, stays as it is. What would turn the order of
// its characters around stands there as its escape: people decide by what they see.
func pretty(data []byte) string {
	var out bytes.Buffer
	data = plainOrder(data)
	if most := maxIndent * (len(data) + 1000); len(data) == 0 || indented(data, most) > most || json.Indent(&out, data, "", "  ") != nil {
		return string(data)
	}
	return out.String()
}

// plainOrder is JSON with the same value in which no character changes the direction of others.
func plainOrder(data []byte) []byte {
	turns := func(c rune) bool { return c >= 0x202a && c <= 0x202e || c >= 0x2066 && c <= 0x2069 }
	if !bytes.ContainsFunc(data, turns) {
		return data
	}
	var out bytes.Buffer
	for _, c := range string(data) {
		if turns(c) {
			fmt.Fprintf(&out, `\u%04x`, c)
		} else {
			out.WriteRune(c)
		}
	}
	return out.Bytes()
}

// plain is a text in which no character changes the direction of others: such a one stands there as its escape. People decide by
// what they see.
func plain(text string) string { return string(plainOrder([]byte(text))) }

// inRow is how many characters of a text a line of a list shows: more than there is room for.
const inRow = 400

// brief is the beginning of a text.
func brief(text string) string {
	seen := 0
	for i := range text {
		if seen++; seen > inRow {
			return plain(text[:i]) + "…"
		}
	}
	return plain(text)
}

// waits says what an execution waits for that needs no worker.
func waits(wait *execution.Wait) string {
	switch {
	case wait.Kind == execution.WaitSchedule && wait.UntilMs == 0:
		return "its turn in the conversation"
	case wait.Kind == execution.WaitSchedule:
		return "its start, " + at(wait.UntilMs)
	case wait.UntilMs > 0:
		return words(wait.Kind) + ", until " + at(wait.UntilMs)
	default:
		return words(wait.Kind)
	}
}

// maxIndent is how many times as long as it was a text may become by being indented.
const maxIndent = 16

// indented is how long JSON would be with every value on a line of its own, or any number above most.
func indented(data []byte, most int) (size int) {
	size = len(data)
	for depth, at, quoted := 0, 0, false; at < len(data) && size <= most; at++ {
		switch c := data[at]; {
		case quoted && c == '\\':
			at++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			size += 1 + 2*depth
		case c == '}', c == ']':
			depth = max(0, depth-1)
			size += 1 + 2*depth
		case c == ',':
			size += 1 + 2*depth
		case c == ':':
			size++
		}
	}
	return size
}

func micros(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 4, 64) }

// maxShownText is how many characters of a text a page shows.
const maxShownText = 4000

// shownText is a text as far as a page shows it.
type shownText struct {
	Text string
	Cut  bool
	Size int // bytes of the whole
}

func cut(text string) shownText {
	text = plain(text)
	if utf8.RuneCountInString(text) <= maxShownText {
		return shownText{Text: text, Size: len(text)}
	}
	return shownText{Text: string([]rune(text)[:maxShownText]) + "…", Cut: true, Size: len(text)}
}

func thousands(n any) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "\u202f" + text[i:]
	}
	return text
}

// pair hands two values to a template.
func pair(a, b any) [2]any { return [2]any{a, b} }

// rowsPart is a table of executions.
type rowsPart struct {
	NowMs      int64
	Executions []execution.View
	Label      string
}

func rowsOf(nowMs int64, executions []execution.View, label string) rowsPart {
	return rowsPart{nowMs, executions, label}
}
