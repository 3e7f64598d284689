package dashboard_test

import (
	"crypto/rand"
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

func TestMessagesShowPicturesThatAreHereAndLoadNoOthers(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	local := s.service.As(execution.LocalAuthority())
	id := s.create(local, "hello")
	w := linktest.Claim(t, s.store, id)
	hash := strings.Repeat("ab", 32)
	w.Say(
		`{"role":"user","parts":[{"type":"text","text":"What is this?"},{"type":"image","mediaType":"image/png","data":"iVBORw0KGgo="},`+
			`{"type":"image","mediaType":"text/html","data":"PGI+"},{"type":"image_url","url":"https://pictures.example/x.png"}]}`,
		`{"role":"assistant","toolCalls":[{"callId":"call_0_0","name":"lookup","arguments":{"b":1}}]}`,
		`{"role":"tool","toolResult":{"callId":"call_0_0","name":"lookup","content":"head … tail","isError":true,"errorKind":"execution",`+
			`"arguments":{"b":2},"blob":{"hash":"`+hash+`","size":123456}}}`,
		`{"role":"assistant","text":"`+strings.Repeat("long ", 2000)+`"}`,
	)
	v := &visitor{site: s}
	page := v.page(at(id, "/messages"))
	require.Contains(t, page, `src="data:image/png;base64,iVBORw0KGgo="`)
	require.Equal(t, 1, strings.Count(page, "<img src=\"data:"))
	require.NotContains(t, page, "text/html;base64")
	require.Contains(t, page, `href="https://pictures.example/x.png" rel="noreferrer noopener"`)
	require.Contains(t, page, `href="/v1/executions/`+string(id)+`/blobs/`+hash+`"`)
	require.Contains(t, page, "error: execution")
	require.Contains(t, page, "Called with the arguments that a person gave")
	require.Contains(t, page, "The whole message as JSON")
	whole := regexp.MustCompile(`href="(/v1/executions/[^"]*/messages\?from=\d+&amp;limit=1)"`).FindStringSubmatch(page)
	require.NotEmpty(t, whole)
	got := v.get(strings.ReplaceAll(whole[1], "&amp;", "&"))
	require.Contains(t, got.body, strings.Repeat("long ", 2000))
}

func TestOfALongLogTheEndIsShownAndTheRestIsAPageAway(t *testing.T) {
	t.Parallel()
	s := open(t, redistest.Shared(t).Client(t), false)
	id := s.create(s.service.As(execution.LocalAuthority()), "hello")
	claimed, err := s.store.Claim(t.Context(), journal.ClaimRequest{Execution: id, Worker: "worker", Nonce: rand.Text(), TTL: time.Minute})
	require.NoError(t, err)
	events := make([]execution.Payload, 1000)
	for i := range events {
		events[i] = &execution.Warning{Code: "test", Message: "a line"}
	}
	_, err = s.store.Commit(t.Context(), journal.Commit{
		Hold: journal.Hold{Execution: id, Fence: claimed.Fence}, Step: claimed.Execution.Step, Node: "model_response",
		Checkpoint: []byte(`{"v":1,"evidence":{"cursor":{"streamCursor":1002}}}`), Events: events, Then: journal.Then{Kind: journal.ThenContinue},
	})
	require.NoError(t, err)
	v := &visitor{site: s}
	seq := func(page string) (first, last string) {
		all := regexp.MustCompile(`<span class="seq">(\d+)</span>`).FindAllStringSubmatch(page, -1)
		return all[0][1], all[len(all)-1][1]
	}
	page := v.page(at(id, ""))
	newest, oldest := seq(page)
	require.Equal(t, "1002", newest)
	require.Equal(t, "703", oldest)
	require.Contains(t, page, `events?after=1002"`, "it is followed from its end")
	require.Contains(t, page, "The first events")
	page = v.page(at(id, "?after=0"))
	newest, oldest = seq(page)
	require.Equal(t, []string{"400", "1"}, []string{newest, oldest})
	require.NotContains(t, page, "data-live=", "what is not at the end is not followed")
	require.Contains(t, page, `?after=400">Later events`)
	got := v.get(at(id, "?after=99999"))
	require.Equal(t, 409, got.StatusCode)
	strict(t, got)
}
