package dashboard_test

import (
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
	"github.com/pawl-run/pawl/link/linktest"
)

func TestThePageOfAnExecutionDrawsItsNodes(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	v := &visitor{site: s}
	require.NotContains(t, v.page(at(id, "")), `>nodes<`, "one event is no picture")
	w := linktest.Claim(t, s.store, id)
	w.Say(`{"role":"assistant","text":"Hi."}`)
	page := v.page(at(id, ""))
	require.Contains(t, page, `>nodes</text>`)
	require.Equal(t, 1, strings.Count(page, `<g class="bar node"`), page)
	require.Equal(t, 1, strings.Count(page, `<g class="bar node open"`), "the worker has the next one")
	w.Complete("done")
	page = v.page(at(id, ""))
	require.Equal(t, 2, strings.Count(page, `<g class="bar node"`))
	require.Contains(t, page, "behind step 1")
	require.NotContains(t, page, "so far")
}

func TestEachPageOfALongLogDrawsItsOwnNodes(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	claimed, err := s.store.Claim(t.Context(), journal.ClaimRequest{Execution: id, Worker: "worker", Nonce: rand.Text(), TTL: time.Minute})
	require.NoError(t, err)
	last := 2 // events by now
	for step := range execution.Step(20) {
		events := make([]execution.Payload, 50)
		for i := range events {
			events[i] = &execution.Warning{Code: "test", Message: "a line"}
		}
		last += len(events)
		_, err = s.store.Commit(t.Context(), journal.Commit{
			Hold: journal.Hold{Execution: id, Fence: claimed.Fence}, Step: step, Node: "model_response", ClaimedAtMs: claimed.NowMs,
			Checkpoint: fmt.Appendf(nil, `{"v":1,"evidence":{"cursor":{"streamCursor":%d}}}`, last), Events: events,
			Then: journal.Then{Kind: journal.ThenContinue}, Keep: time.Minute,
		})
		require.NoError(t, err)
	}
	v := &visitor{site: s}
	later := regexp.MustCompile(`href="([^"]*)">Later events`)
	path, seen := at(id, "?after=0"), map[string]bool{}
	for range 3 {
		page := v.page(path)
		for _, title := range regexp.MustCompile(`behind steps? (\d+)`).FindAllStringSubmatch(page, -1) {
			seen[title[1]] = true
		}
		require.Contains(t, page, `<g class="bar node`, path)
		if next := later.FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
			require.Contains(t, path, "&step=")
		}
	}
	require.True(t, seen["0"], "the first node is on the first page")
	require.True(t, seen["20"], "and the one that goes on is on the last")
}

func TestCheckpointsAreShownWithTheirTimes(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	w := linktest.Claim(t, s.store, id)
	for range 3 {
		w.Say(`{"role":"assistant","text":"Hi."}`)
	}
	v := &visitor{site: s}
	rows := func(query string) []string {
		page := v.page(at(id, "/checkpoints"+query))
		return regexp.MustCompile(`<span class="small times">.*?\n`).FindAllString(page, -1)
	}
	all := rows("")
	require.Len(t, all, 4)
	require.NotContains(t, all[0], "took", "nobody ran anything for the first one")
	for _, row := range all[1:] {
		require.Regexp(t, `\d\d:\d\d:\d\d\.\d{3}</time> · (took \d|written with)`, row)
	}
	require.Equal(t, all[2:], rows("?from=2"), "the first one of a page knows the one in front of it")
	require.Empty(t, rows("?from=9"))
}
