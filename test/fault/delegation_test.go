//go:build faultpoint

package fault

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/test/harness"
)

const desk = `
agents:
  desk:
    model:
      provider: scripted
      turns:
        - toolCalls: [{name: files, arguments: {query: invoices}}, {name: drive_search, arguments: {query: invoices}}]
        - {text: "Found."}
    tools:
      - {name: files, type: http, url: "$FILES", auth: delegation, recovery: read_only}
      - {name: drive, type: mcp, url: "$DRIVE", auth: delegation, recovery: read_only}
`

// deskStack is an installation whose callers come from a real authorization server, and two services that take its tokens:
// one behind HTTP, and an MCP server.
type deskStack struct {
	*harness.Stack
	issuer *delegationtest.Issuer
	caller execution.Credential

	mu       sync.Mutex
	carried  []execution.Credential // guarded by mu: the tokens that the services were called with
	good     []bool                 // guarded by mu: whether each was good then
	searched int                    // guarded by mu: calls of the MCP server's tool
}

func newDesk(t *testing.T) *deskStack {
	t.Helper()
	s := &deskStack{issuer: delegationtest.Start(t)}
	s.caller = s.issuer.SignInJWT(t, delegationtest.User)
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.called(t, r)                         //nolint:contextcheck // the test asks for itself
		_, _ = w.Write([]byte(`{"found": 3}`)) // a worker that was killed does not read it
	}))
	t.Cleanup(files.Close)
	s.Stack = harness.New(t, harness.Config{
		Agents: strings.NewReplacer("$FILES", files.URL, "$DRIVE", s.drive(t)).Replace(desk),
		Env: map[string]string{
			"PAWL_AUTH": "keys", "PAWL_OIDC_ISSUER": s.issuer.URL, "PAWL_OIDC_AUDIENCE": delegationtest.ClientID,
			"PAWL_DELEGATION_TOKEN_URL": s.issuer.TokenURL(), "PAWL_DELEGATION_REVOKE_URL": s.issuer.RevokeURL(),
			"PAWL_DELEGATION_CLIENT_ID": delegationtest.ClientID, "PAWL_DELEGATION_CLIENT_SECRET": delegationtest.ClientSecret,
			"PAWL_DELEGATION_REQUEST_TYPE": "refresh_token", "PAWL_DELEGATION_SCOPES": "openid,profile,offline_access",
			"PAWL_DELEGATION_KEYS": delegationtest.Key(0), "PAWL_DELEGATION_TIMEOUT": "60s", "PAWL_LOG_LEVEL": "debug",
		},
	})
	return s
}

// called notes whose token a request carries.
func (s *deskStack) called(t *testing.T, r *http.Request) (good bool) {
	t.Helper()
	token := execution.NewCredential(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	good = s.issuer.Good(t, token)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carried, s.good = append(s.carried, token), append(s.good, good)
	return good
}

// drive is the MCP server, which takes no request without a good token.
func (s *deskStack) drive(t *testing.T) (url string) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "drive", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "search", InputSchema: json.RawMessage(`{"type": "object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.searched++
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "two drawings"}}}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The end of a session may come when its token is over: it ends with its step, and the execution soon after.
		if r.Method == http.MethodPost && !s.called(t, r) { //nolint:contextcheck // the test asks for itself
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		listening.CloseClientConnections()
		listening.Close()
	})
	return listening.URL
}

// ask sends a request as the caller.
func (s *deskStack) ask(t *testing.T, api *harness.API, method, path, key string, body any) (harness.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), endTimeout)
	defer cancel()
	header := map[string]string{"Authorization": "Bearer " + s.caller.Reveal()}
	if key != "" {
		header["Idempotency-Key"] = key
	}
	return api.Do(ctx, method, path, header, body)
}

func (s *deskStack) submit(t *testing.T, api *harness.API, key string) (harness.Answer, error) {
	t.Helper()
	request := harness.Submission("desk", "Find my invoices")
	request.Delegation = &execution.DelegationRequest{}
	return s.ask(t, api, http.MethodPost, "/v1/executions", key, request)
}

// submitted submits, once the API knows its issuer.
func (s *deskStack) submitted(t *testing.T, api *harness.API, key string) execution.View {
	t.Helper()
	var answer harness.Answer
	harness.Eventually(t, endTimeout, "the API takes the caller's token", func() bool {
		var err error
		answer, err = s.submit(t, api, key)
		require.NoError(t, err)
		return answer.Status < http.StatusInternalServerError
	})
	require.Contains(t, []int{http.StatusAccepted, http.StatusOK}, answer.Status, "%s", answer.Body)
	view, err := answer.View()
	require.NoError(t, err)
	return view
}

// ends waits until the execution has ended and its lease is revoked.
func (s *deskStack) ends(t *testing.T, api *harness.API, id execution.ID) execution.View {
	t.Helper()
	var view execution.View
	harness.Eventually(t, endTimeout, "the execution ends and its lease is revoked", func() bool {
		answer, err := s.ask(t, api, http.MethodGet, "/v1/executions/"+string(id), "", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
		view, err = answer.View()
		require.NoError(t, err)
		return view.State.Terminal() && view.Delegation.Revoked
	})
	s.forgotten(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, token := range s.carried {
		require.False(t, s.issuer.Good(t, token), "a token that was used is over")
	}
	return view
}

// forgotten checks that nothing is left of any lease but the mark that its execution gets no other one, which goes soon: after
// twice the time that an exchange may take, and ten minutes.
func (s *deskStack) forgotten(t *testing.T) {
	t.Helper()
	for _, key := range s.Keys("pawl:*lease*") {
		left, err := s.Redis.Get(t.Context(), key).Result()
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(left, "\x00"), key)
		expires, err := s.Redis.PTTL(t.Context(), key).Result()
		require.NoError(t, err)
		require.Positive(t, expires, key)
		require.LessOrEqual(t, expires, 12*time.Minute, key)
	}
}

// TestALeaseThatComesAfterTheCleanupIsKeptByNobody has an execution end, and be cleaned up, while the server is asked for its
// lease; and then the process die that asked.
func TestALeaseThatComesAfterTheCleanupIsKeptByNobody(t *testing.T) {
	t.Parallel()
	for point, revoked := range map[string]int64{
		"delegation_granted":     0, // nobody has its tokens; they run out by themselves
		"delegation_established": 2, // its refresh token and its access token
	} {
		t.Run("killed at "+point, func(t *testing.T) {
			t.Parallel()
			s := newDesk(t)
			entered, release := s.issuer.Hold()
			doomed := s.API(harness.AtFault(point))
			go func() {
				for range 100 { // until the API knows its issuer
					if _, err := s.submit(t, doomed, "key"); err != nil {
						return
					}
				}
			}()
			select {
			case <-entered:
			case <-time.After(endTimeout):
				t.Fatal("the server was not asked")
			}
			s.Reaper()
			api := s.API()
			view := s.only(t, api)
			answer, err := s.ask(t, api, http.MethodPost, "/v1/executions/"+string(view.ID)+"/cancel", "", nil)
			require.NoError(t, err)
			require.Less(t, answer.Status, http.StatusBadRequest, "%s", answer.Body)
			s.ends(t, api, view.ID)
			require.Len(t, s.Keys("pawl:*lease*"), 1, "the mark")
			release()
			doomed.WaitFault(point)
			s.forgotten(t)
			require.EqualValues(t, revoked, s.issuer.Revocations.Load())
			view = s.submitted(t, api, "key")
			require.Equal(t, execution.Canceled, view.State)
			require.EqualValues(t, 1, s.issuer.Exchanges.Load())
		})
	}
}

// only is the only execution, once the API knows its issuer.
func (s *deskStack) only(t *testing.T, api *harness.API) execution.View {
	t.Helper()
	var page struct{ Executions []execution.View }
	harness.Eventually(t, endTimeout, "the execution is listed", func() bool {
		answer, err := s.ask(t, api, http.MethodGet, "/v1/executions", "", nil)
		require.NoError(t, err)
		return answer.Status == http.StatusOK && json.Unmarshal(answer.Body, &page) == nil && len(page.Executions) > 0
	})
	require.Len(t, page.Executions, 1)
	return page.Executions[0]
}

func TestADelegationSurvivesAProcessKilledAtAnyPlace(t *testing.T) {
	t.Parallel()
	for _, point := range []string{
		"after_commit:run_start",     // the row is there, the lease is not
		"delegation_established",     // the lease is there, and not in the row
		"claimed:tool_call",          // it is in the row, and was never used
		"tool_sent",                  // it was used
		"before_commit:run_complete", // before it is revoked
	} {
		t.Run("at "+point, func(t *testing.T) {
			t.Parallel()
			s := newDesk(t)
			s.Reaper()
			if slices.Contains([]string{"after_commit:run_start", "delegation_established"}, point) {
				doomed := s.API(harness.AtFault(point))
				go func() {
					for range 100 { // until the API knows its issuer
						if _, err := s.submit(t, doomed, "key"); err != nil {
							return
						}
					}
				}()
				doomed.WaitFault(point)
			} else {
				s.Worker(harness.AtFault(point))
			}
			api := s.API()
			view := s.submitted(t, api, "key")
			s.Worker()
			view = s.ends(t, api, view.ID)
			require.Equal(t, execution.Completed, view.State)
			require.EqualValues(t, 1, s.issuer.Exchanges.Load(), "one lease was made")
			s.mu.Lock()
			defer s.mu.Unlock()
			require.NotEmpty(t, s.carried)
			require.Positive(t, s.searched)
			require.NotContains(t, s.good, false, "each request carried a good token")
			require.NotContains(t, s.carried, s.caller)
		})
	}
}

func TestALeaseThatCannotBeRevokedIsTriedAgainUntilItIs(t *testing.T) {
	t.Parallel()
	s := newDesk(t)
	api := s.API()
	s.Worker()
	view := s.submitted(t, api, "key")
	harness.Eventually(t, endTimeout, "it is finalizing", func() bool {
		answer, err := s.ask(t, api, http.MethodGet, "/v1/executions/"+string(view.ID), "", nil)
		require.NoError(t, err)
		view, err = answer.View()
		require.NoError(t, err)
		return view.State == execution.Finalizing
	})
	s.issuer.Down.Store(true)
	reaper := s.Reaper()
	reaper.WaitLog(endTimeout, "delegation broker unavailable")
	require.NotEmpty(t, s.Keys("pawl:*lease*"))
	s.issuer.Down.Store(false)
	require.Equal(t, execution.Completed, s.ends(t, api, view.ID).State)
}

func TestNobodyComesBackForADelegation(t *testing.T) {
	t.Parallel()
	s := newDesk(t)
	api := s.API()
	s.submitted(t, api, "first") // the API knows its issuer
	s.issuer.Down.Store(true)
	answer, err := s.submit(t, api, "")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, answer.Status, "%s", answer.Body)
	answer, err = s.ask(t, api, http.MethodGet, "/v1/executions?state=failed", "", nil)
	require.NoError(t, err)
	var page struct{ Executions []execution.View }
	require.NoError(t, json.Unmarshal(answer.Body, &page))
	require.Len(t, page.Executions, 1)
	require.Equal(t, execution.CodeDelegationLost, page.Executions[0].Failure.Code)
}

func TestNoSecretOfADelegationIsWrittenAnywhere(t *testing.T) {
	t.Parallel()
	s := newDesk(t)
	api := s.API()
	view := s.submitted(t, api, "key")
	seen := []string{dumped(s)}
	row, err := s.Redis.HGet(t.Context(), harness.RowKey(view.ID), "delegationLease").Result()
	require.NoError(t, err)
	worker, reaper := s.Worker(), s.Reaper()
	view = s.ends(t, api, view.ID)
	seen = append(seen, dumped(s), api.Log(), worker.Log(), reaper.Log())
	for _, path := range []string{"", "/events", "/messages", "/checkpoints", "/why"} {
		answer, err := s.ask(t, api, http.MethodGet, "/v1/executions/"+string(view.ID)+path, "", nil)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, answer.Status)
		seen = append(seen, string(answer.Body))
		require.NotContains(t, string(answer.Body), row, "the lease is in no answer")
	}
	for _, log := range []string{api.Log(), worker.Log(), reaper.Log()} {
		require.NotContains(t, log, row, "the lease is in no log")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.carried)
	for _, secret := range append([]execution.Credential{
		s.caller, execution.NewCredential(delegationtest.ClientSecret), execution.NewCredential(delegationtest.Key(0)),
	}, s.carried...) {
		for _, text := range seen {
			require.False(t, strings.Contains(text, secret.Reveal()), "a secret was written: %s", around(text, secret.Reveal()))
		}
	}
}

// dumped is everything that is in Redis.
func dumped(s *deskStack) string {
	var all strings.Builder
	for key, value := range s.Dump() {
		all.WriteString(key + " " + value + "\n")
	}
	return all.String()
}

// around is where a text holds another one.
func around(text, held string) string {
	at := strings.Index(text, held)
	return text[max(0, at-80):min(len(text), at+20)]
}
