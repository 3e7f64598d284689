package executor

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/mcptool"
	"github.com/pawl-run/pawl/delegation"
	"github.com/pawl-run/pawl/delegation/delegationtest"
	"github.com/pawl-run/pawl/delegation/redisvault"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/internal/redistest"
	"github.com/pawl-run/pawl/journal"
)

// drive is an MCP server that takes the tokens of an issuer.
type drive struct {
	t      *testing.T
	issuer *delegationtest.Issuer
	server *mcp.Server
	kit    *local.Kit

	mu      sync.Mutex
	ways    map[string]map[string]bool // guarded by mu: the users that a connection or session has had
	carried map[string]string          // guarded by mu: the user of each token
	refused int                        // guarded by mu: requests
	offered map[string]bool            // guarded by mu: names of tools that the model was told of
	listed  int                        // guarded by mu: requests for the list of tools
}

func newDrive(t *testing.T) *drive {
	t.Helper()
	d := &drive{
		t: t, issuer: delegationtest.Start(t), server: mcp.NewServer(&mcp.Implementation{Name: "drive", Version: "1"}, nil),
		ways: map[string]map[string]bool{}, carried: map[string]string{}, offered: map[string]bool{},
	}
	d.server.AddTool(&mcp.Tool{
		Name: "whose", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		whose := "files of " + d.who(req.Extra.Header) //nolint:contextcheck // the test asks for itself
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: whose}}}, nil
	})
	d.server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				d.mu.Lock()
				d.listed++
				d.mu.Unlock()
			}
			return next(ctx, method, req)
		}
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return d.server }, nil)
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.admits(r) { //nolint:contextcheck // likewise
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	servers, err := mcptool.NewServers(mcptool.Config{Logger: quiet(), KeepFor: time.Minute})
	require.NoError(t, err)
	t.Cleanup(func() {
		servers.Close()
		listening.CloseClientConnections()
		listening.Close()
		for session := range d.server.Sessions() { // whose end came with a token that was renewed since
			_ = session.Close()
		}
	})
	declared := agent.Tool{
		Name: "drive", Type: agent.ToolMCP, URL: listening.URL, Auth: agent.AuthDelegation, TrustHints: true, Timeout: time.Minute,
	}
	set, err := servers.Factory(t.Context(), nil, declared, nil)
	require.NoError(t, err)
	turns := script(calling("drive_whose"), calling("drive_whose", "drive_whose"), text("end"))
	d.kit = &local.Kit{Tools: []local.Tool{set}, Model: fakeModel(func(ctx context.Context, r local.ModelRequest) (local.ModelResponse, error) {
		d.mu.Lock()
		for _, offered := range r.Tools {
			d.offered[offered.Name] = true
		}
		d.mu.Unlock()
		return turns(ctx, r)
	})}
	return d
}

// who is whose token the header holds, as the issuer says it.
func (d *drive) who(header http.Header) string {
	token := strings.TrimPrefix(header.Get("Authorization"), "Bearer ")
	if token == "" {
		return ""
	}
	return d.issuer.Who(d.t, execution.NewCredential(token))
}

func (d *drive) admits(r *http.Request) bool {
	who := d.who(r.Header)
	d.mu.Lock()
	defer d.mu.Unlock()
	if who == "" {
		if r.Method != http.MethodDelete { // which ends a session, with the last token of its claim: it may be renewed since
			d.refused++
		}
		return false
	}
	d.carried[r.Header.Get("Authorization")] = who
	for _, way := range []string{r.RemoteAddr, r.Header.Get("Mcp-Session-Id")} {
		if d.ways[way] == nil {
			d.ways[way] = map[string]bool{}
		}
		d.ways[way][who] = way != "" // no session is none
	}
	return true
}

// visitor is an execution of a user.
type visitor struct {
	*world
	broker *delegation.Exchange
	late   atomic.Int64 // how much later the broker thinks that it is
}

func (d *drive) visitor(t *testing.T, user string) *visitor {
	t.Helper()
	v := &visitor{}
	keys, err := delegation.NewKeyring(delegationtest.Key(0))
	require.NoError(t, err)
	cfg := d.issuer.Config(redisvault.New(redistest.Shared(t).Client(t), redistest.Prefix()), keys)
	cfg.Now = func() time.Time { return time.Now().Add(time.Duration(v.late.Load())) }
	v.broker, err = delegation.NewExchange(cfg)
	require.NoError(t, err)
	v.world = newWorld(t, &agent.Definition{}, d.kit, func(c *Config) { c.Delegations = v.broker })
	_, _ = v.queue.pop() // the world's own execution acts for nobody
	v.lease = &journal.Delegation{LeaseRef: "to come", Revision: 1}
	v.establish = func(id execution.ID) journal.Delegation {
		lease, err := v.broker.Establish(t.Context(), delegation.Grant{Execution: id, Caller: d.issuer.SignIn(t, user)})
		require.NoError(t, err)
		return journal.Delegation{LeaseRef: journal.LeaseRef(lease.Ref), Revision: lease.Revision, ExpiresAtSeconds: lease.ExpiresAtSeconds()}
	}
	v.submit(&agent.Definition{Name: "demo"})
	return v
}

// calledOnce runs the execution until its first call has its result.
func (v *visitor) calledOnce(t *testing.T) {
	t.Helper()
	v.to(ToolCall)
	v.to(PrepareModelRequest)
	require.Equal(t, 1, strings.Count(results(t, v.world), "files of "))
}

func TestTwoCallersAtOneMCPServer(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	t.Run("at once", func(t *testing.T) {
		t.Parallel() //nolint:tparallel // what follows looks at all of them
		for _, user := range []string{delegationtest.User, delegationtest.Other, delegationtest.User, delegationtest.Other} {
			t.Run(user, func(t *testing.T) {
				t.Parallel()
				v := d.visitor(t, user)
				v.calledOnce(t)
				v.late.Store(int64(270 * time.Second)) // the issuer's tokens last five minutes
				v.to(RunComplete)
				require.Equal(t, 3, strings.Count(results(t, v.world), "files of "+user), results(t, v.world))
				require.EqualValues(t, 2, v.row().Delegation.Revision, "it was renewed on the way")
				require.NoError(t, v.broker.Revoke(t.Context(), v.id, v.row().CreatedAtMs))
			})
		}
	})
	t.Cleanup(func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		assert.Zero(t, d.refused, "each request carried a good token")
		assert.GreaterOrEqual(t, len(d.carried), 8, "two tokens of each execution")
		for way, users := range d.ways {
			if way != "" {
				assert.Len(t, users, 1, way)
			}
		}
		for header := range d.carried {
			assert.Empty(t, d.who(http.Header{"Authorization": {header}}), "it is revoked")
		}
		assert.Equal(t, map[string]bool{"drive_whose": true}, d.offered)
	})
}

// TestStepsThatFollowEachOtherShareASession: one handshake and one list for all of them, with a token of each.
func TestStepsThatFollowEachOtherShareASession(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	v := d.visitor(t, delegationtest.User)
	v.calledOnce(t)
	require.Len(t, d.sessions(), 1, "it waits for the next step")
	v.to(RunComplete)
	require.Equal(t, 3, strings.Count(results(t, v.world), "files of "+delegationtest.User))
	require.Equal(t, 1, d.listed)
	require.Eventually(t, func() bool { return len(d.sessions()) == 0 }, 30*time.Second, time.Millisecond, "it ends with the execution")
}

func (d *drive) sessions() []*mcp.ServerSession { return slices.Collect(d.server.Sessions()) }

func TestAnMCPServerWhoseCallerIsLostOnTheWay(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	v := d.visitor(t, delegationtest.User)
	v.calledOnce(t)
	require.NoError(t, v.broker.Revoke(t.Context(), v.id, v.row().CreatedAtMs))
	v.to(RunComplete)
	said := results(t, v.world)
	require.Equal(t, 1, strings.Count(said, "files of "))
	require.Equal(t, 2, strings.Count(said, "has ended"), said)
	require.Equal(t, map[string]bool{"drive_whose": true, "drive_unavailable": true}, d.offered)
	require.Zero(t, d.refused)
}

func TestAnMCPServerOfNobody(t *testing.T) {
	t.Parallel()
	d := newDrive(t)
	v := d.visitor(t, delegationtest.User)
	v.lease = nil
	_, _ = v.queue.pop()
	v.submit(&agent.Definition{Name: "demo"})
	require.Equal(t, execution.Completed, v.drive().State)
	require.Equal(t, 3, strings.Count(results(t, v.world), "submitted without one"))
	require.Equal(t, map[string]bool{"drive_unavailable": true}, d.offered)
	require.Empty(t, d.carried)
	require.Zero(t, d.refused, "nobody asks")
}
