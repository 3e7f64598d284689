package redisjournal

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// luaFiles is every embedded script by name.
func luaFiles(t *testing.T) map[string]string {
	t.Helper()
	entries, err := sources.ReadDir("lua")
	require.NoError(t, err)
	files := make(map[string]string)
	for _, entry := range entries {
		body, err := sources.ReadFile("lua/" + entry.Name())
		require.NoError(t, err)
		files[strings.TrimSuffix(entry.Name(), ".lua")] = string(body)
	}
	return files
}

// header is the comment block that a script begins with, by section.
func header(body string) (sections map[string]string, order []string) {
	sections = make(map[string]string)
	name := ""
	title := regexp.MustCompile(`^-- ([A-Z][A-Za-z]+):(.*)$`)
	for line := range strings.SplitSeq(body, "\n") {
		text, ok := strings.CutPrefix(line, "--")
		if !ok {
			break
		}
		if found := title.FindStringSubmatch(line); found != nil {
			name = found[1]
			order = append(order, name)
			text = found[2]
		}
		sections[name] += text + "\n"
	}
	return sections, order
}

func TestEveryScriptBeginsWithItsHeader(t *testing.T) {
	t.Parallel()
	for name, body := range luaFiles(t) {
		sections, order := header(body)
		want := []string{"Purpose", "KEYS", "ARGV", "Returns", "Refuses", "Invariant"}
		if name == "lib" || name == "moves" {
			want = []string{"Purpose", "KEYS", "ARGV", "Invariant"}
		}
		order = slices.DeleteFunc(order, func(s string) bool { return !slices.Contains(want, s) })
		require.Equal(t, want, order, name)
		for _, section := range want {
			require.NotEmpty(t, strings.TrimSpace(sections[section]), "%s of %s", section, name)
		}
	}
}

func TestHeadersListTheArgumentsThatTheFirstLinesBind(t *testing.T) {
	t.Parallel()
	bound := regexp.MustCompile(`unpack\(ARGV, (\d+), (\d+)\)`)
	listed := regexp.MustCompile(`(?:^|[\s,;])(?:then )?(\d+)(?: to (\d+))? [a-zA-Z]`)
	for name, body := range luaFiles(t) {
		highest := 0
		for _, found := range bound.FindAllStringSubmatch(body, -1) {
			last, err := strconv.Atoi(found[2])
			require.NoError(t, err)
			highest = max(highest, last)
		}
		if highest == 0 {
			continue
		}
		sections, _ := header(body)
		most := 0
		for _, found := range listed.FindAllStringSubmatch(strings.ReplaceAll(sections["ARGV"], "\n", " "), -1) {
			for _, text := range found[1:] {
				if number, err := strconv.Atoi(text); err == nil {
					most = max(most, number)
				}
			}
		}
		require.Equal(t, highest, most, "ARGV of %s", name)
	}
}

func TestHeadersListTheRefusals(t *testing.T) {
	t.Parallel()
	refused := regexp.MustCompile(`refuse\('([A-Z]+)'`)
	for name, body := range luaFiles(t) {
		if name == "lib" || name == "moves" {
			continue
		}
		sections, _ := header(body)
		codes := map[string]bool{}
		for _, found := range refused.FindAllStringSubmatch(body, -1) {
			codes[found[1]] = true
		}
		if strings.Contains(body, "guard(") || strings.Contains(body, "hold(") {
			codes["NOTFOUND"], codes["FENCED"] = true, true
		}
		for code := range codes {
			require.Contains(t, sections["Refuses"], code, name)
			require.Contains(t, refusals(), code)
		}
	}
}

func TestScriptsUseNoPcallAndNoCjsonAndNoTime(t *testing.T) {
	t.Parallel()
	for name, body := range luaFiles(t) {
		for _, word := range []string{"pcall", "cjson", "cmsgpack", "bit.", "struct."} {
			require.NotContains(t, body, word, name)
		}
		if name != "lib" && !strings.HasSuffix(name, usual) {
			require.NotContains(t, body, "'TIME'", "%s takes the clock from tail()", name)
		}
	}
}

// Most scripts write through save alone, so that nothing is written above a guard. The exceptions have no row to open, or are
// usual ways: see TestUsualWaysReadBeforeTheyWrite.
func TestScriptsWriteThroughSave(t *testing.T) {
	t.Parallel()
	exceptions := []string{"audit_entries", "cleanups", "delete", "lib", "mark_key", "postpone", "purge", "purge_key", "reserve_key", "sweep"}
	writes := regexp.MustCompile(`redis\.call\('(HSET|HDEL|HINCRBY|RPUSH|ZADD|ZREM|SET|DEL|UNLINK|PUBLISH)'`)
	for name, body := range luaFiles(t) {
		if !slices.Contains(exceptions, name) && !strings.HasPrefix(name, "push_") && !strings.HasSuffix(name, usual) {
			require.Empty(t, writes.FindString(body), name)
		}
	}
}

// A usual way leaves what is not usual to the script behind it, so it may not have written anything by then. Its first write is
// a ZREM, as is that of save.
func TestUsualWaysReadBeforeTheyWrite(t *testing.T) {
	t.Parallel()
	write := regexp.MustCompile(`call\('(HSET|HDEL|HSETNX|RPUSH|ZADD|ZREM|PUBLISH)'`)
	for name, body := range luaFiles(t) {
		if !strings.HasSuffix(name, usual) {
			continue
		}
		first := write.FindStringSubmatchIndex(body)
		require.NotNil(t, first, name)
		require.Equal(t, "ZREM", body[first[2]:first[3]], name)
		require.NotRegexp(t, `(?m)^ {2,4}\S.* break end$`, body[first[0]:], name)
	}
}

func TestTheFenceIsTheFirstGuardOfAHoldersScript(t *testing.T) {
	t.Parallel()
	holders := []string{
		"renew", "record", "commit", "release", "transition", "finish", "append_event", "begin_interaction",
		"complete_interaction", "attach_delegation", "spawn",
	}
	for _, name := range holders {
		body := luaFiles(t)[name]
		_, code, _ := strings.Cut(body, "open(")
		first := strings.Index(code, "refuse(")
		fence := strings.Index(code, "hold(x, fence")
		if fence < 0 {
			fence = strings.Index(code, "guard(x, fence")
		}
		require.Positive(t, fence, name)
		require.Less(t, fence, first, name)
	}
}
