package client_test

import (
	"context"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/client"
	"github.com/pawl-run/pawl/execution"
)

// everyCall makes each call of the API once.
func everyCall() map[string]func(context.Context, *client.Client) error {
	create, fork := execution.CreateRequest{Agent: "demo"}, execution.ForkRequest{Step: 4, Model: "small"}
	bulk := execution.BulkRequest{
		Action: execution.BulkCancel, Filter: execution.BulkFilter{State: execution.Queued}, DryRun: true, Limit: 3, Cursor: "c",
	}
	return map[string]func(context.Context, *client.Client) error{
		"create": func(ctx context.Context, c *client.Client) error { _, err := c.Create(ctx, "k", create); return err },
		"create without a key": func(ctx context.Context, c *client.Client) error {
			_, err := c.Create(ctx, "", create)
			return err
		},
		"fork": func(ctx context.Context, c *client.Client) error { _, err := c.Fork(ctx, id, "", fork); return err },
		"execution": func(ctx context.Context, c *client.Client) error {
			_, err := c.Execution(ctx, id)
			return err
		},
		"wait": func(ctx context.Context, c *client.Client) error {
			_, err := c.Wait(ctx, id, 7, time.Second)
			return err
		},
		"list": func(ctx context.Context, c *client.Client) error {
			_, err := c.List(ctx, execution.ListQuery{State: execution.Failed})
			return err
		},
		"events": func(ctx context.Context, c *client.Client) error { _, err := c.Events(ctx, id, 2, 1); return err },
		"messages": func(ctx context.Context, c *client.Client) error {
			_, err := c.Messages(ctx, id, 5, 6)
			return err
		},
		"checkpoints": func(ctx context.Context, c *client.Client) error {
			_, err := c.Checkpoints(ctx, id, 5, 6)
			return err
		},
		"tool calls": func(ctx context.Context, c *client.Client) error {
			_, err := c.ToolCalls(ctx, id, 5, 6)
			return err
		},
		"why": func(ctx context.Context, c *client.Client) error { _, err := c.Why(ctx, id); return err },
		"input": func(ctx context.Context, c *client.Client) error {
			_, err := c.SubmitInput(ctx, id, execution.SubmitInput{OperationID: "o"})
			return err
		},
		"cancel": func(ctx context.Context, c *client.Client) error { _, err := c.Cancel(ctx, id); return err },
		"pause":  func(ctx context.Context, c *client.Client) error { _, err := c.Pause(ctx, id); return err },
		"resume": func(ctx context.Context, c *client.Client) error {
			_, err := c.Resume(ctx, id, execution.ResumeRequest{Reason: "again"})
			return err
		},
		"release": func(ctx context.Context, c *client.Client) error { _, err := c.Release(ctx, id); return err },
		"delete":  func(ctx context.Context, c *client.Client) error { return c.Delete(ctx, id) },
		"bulk":    func(ctx context.Context, c *client.Client) error { _, err := c.Bulk(ctx, bulk); return err },
		"stream token": func(ctx context.Context, c *client.Client) error {
			_, err := c.StreamToken(ctx, id)
			return err
		},
		"agents": func(ctx context.Context, c *client.Client) error { _, err := c.Agents(ctx); return err },
	}
}

func TestCallsAreSentAsTheAPIHasThem(t *testing.T) {
	t.Parallel()
	at := "/v1/executions/" + string(id)
	for name, want := range map[string]string{
		"create":               `POST /v1/executions {"agent":"demo","input":{"type":""}}`,
		"create without a key": `POST /v1/executions {"agent":"demo","input":{"type":""}}`,
		"fork":                 `POST ` + at + `/fork {"step":4,"model":"small"}`,
		"execution":            `GET ` + at + ` `,
		"wait":                 `GET ` + at + `?version=7&wait=1s `,
		"list":                 `GET /v1/executions?state=failed `,
		"events":               `GET ` + at + `/events?after=2&limit=1 `,
		"messages":             `GET ` + at + `/messages?from=5&limit=6 `,
		"checkpoints":          `GET ` + at + `/checkpoints?from=5&limit=6 `,
		"tool calls":           `GET ` + at + `/tool-calls?after=5&limit=6 `,
		"why":                  `GET ` + at + `/why `,
		"input":                `POST ` + at + `/input {"operationId":"o","input":{"type":""}}`,
		"cancel":               `POST ` + at + `/cancel `,
		"pause":                `POST ` + at + `/pause `,
		"resume":               `POST ` + at + `/resume {"reason":"again"}`,
		"release":              `POST ` + at + `/release `,
		"delete":               `DELETE ` + at + ` `,
		"bulk":                 `POST /v1/executions/bulk {"action":"cancel","filter":{"state":"queued"},"dryRun":true,"limit":3,"cursor":"c"}`,
		"stream token":         `POST ` + at + `/stream-token `,
		"agents":               `GET /v1/agents `,
	} {
		var got string
		c, _ := script(t, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = r.Method + " " + r.URL.String() + " " + string(body)
			if r.Header.Get("Authorization") != "Bearer key" {
				got = "without the key"
			}
			gives(http.StatusOK, struct{}{})(w, r)
		})
		require.NoError(t, everyCall()[name](bounded(t), c), name)
		require.Equal(t, want, got)
	}
	require.Len(t, everyCall(), 20)
}

func TestASubmissionWithoutAKeyIsOneExecutionWhateverIsLost(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"create without a key": "/v1/executions", "fork": "/v1/executions/" + string(id) + "/fork"} {
		var mu sync.Mutex
		keys := map[string]int{}
		takes := func(then http.HandlerFunc) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys[r.URL.Path+" "+r.Header.Get("Idempotency-Key")]++
				mu.Unlock()
				w.Header().Set("Idempotency-Replayed", "true")
				then(w, r)
			}
		}
		c, _ := script(t, takes(aborts), takes(fails(http.StatusServiceUnavailable)), takes(gives(200, view(execution.Queued))))
		require.NoError(t, everyCall()[name](bounded(t), c))
		require.Len(t, keys, 1)
		for key, n := range keys {
			require.Equal(t, 3, n)
			require.Regexp(t, "^"+path+" client-[A-Z2-7]{26}$", key)
		}
		created, err := c.Create(bounded(t), "", execution.CreateRequest{})
		require.NoError(t, err)
		require.False(t, created.Replayed, "it is the caller's own submission")
		require.Len(t, keys, 2, "each call has a key of its own")
		created, err = c.Create(bounded(t), "mine", execution.CreateRequest{})
		require.NoError(t, err)
		require.True(t, created.Replayed)
	}
}

func TestRetryAfterIsHonored(t *testing.T) {
	t.Parallel()
	// A second of patience is asked for: the second attempt is not before that.
	began := time.Now()
	c, count := script(t, fails(429, "Retry-After", "1"), gives(200, struct{}{}))
	_, err := c.Execution(bounded(t), id)
	require.NoError(t, err)
	require.GreaterOrEqual(t, time.Since(began), time.Second)
	require.EqualValues(t, 2, count.Load())

	// More than the configuration allows, or than the context has, is the caller's to wait for.
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, header := range []string{"3600", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), "11"} {
		c, count = script(t, fails(429, "Retry-After", header))
		_, err = c.Execution(ctx, id)
		var api *execution.APIError
		require.ErrorAs(t, err, &api)
		require.ErrorIs(t, err, execution.ErrOverloaded)
		require.Greater(t, api.RetryAfter, 10*time.Second)
		require.EqualValues(t, 1, count.Load(), header)
	}
}

func TestADeletionWhoseAnswerWasLostIsDone(t *testing.T) {
	t.Parallel()
	c, _ := script(t, aborts, fails(404))
	require.NoError(t, c.Delete(bounded(t), id))
	c, _ = script(t, fails(429, "Retry-After", "0"), fails(404))
	require.ErrorIs(t, c.Delete(bounded(t), id), execution.ErrNotFound, "nothing was begun before")
	c, _ = script(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	require.NoError(t, c.Delete(bounded(t), id))
}

func TestWaitUntilOutlivesTheAPI(t *testing.T) {
	t.Parallel()
	at := func(state execution.State, version uint64) http.HandlerFunc {
		v := view(state)
		v.Version = version
		return gives(200, v)
	}
	away := []http.HandlerFunc{fails(503), fails(503), fails(503), fails(503), fails(503), aborts}
	c, _ := script(t, append(away, at(execution.Queued, 1), at(execution.Running, 2), fails(503), at(execution.WaitingForInput, 3),
		at(execution.Completed, 4))...)
	got, err := c.WaitUntil(bounded(t), id, func(v execution.View) bool { return v.State == execution.WaitingForInput })
	require.NoError(t, err)
	require.EqualValues(t, 3, got.Version)
	got, err = c.WaitUntil(bounded(t), id, nil)
	require.NoError(t, err)
	require.EqualValues(t, 4, got.Version)

	later := execution.View{ID: id, State: "evaporated", Version: 9, EndedAtMs: 1}
	c, count := script(t, gives(200, later))
	got, err = c.WaitUntil(bounded(t), id, nil)
	require.NoError(t, err)
	require.Equal(t, later, got, "an end of a later release")
	require.EqualValues(t, 1, count.Load())
	c, _ = script(t, fails(404))
	_, err = c.WaitUntil(bounded(t), id, nil)
	require.ErrorIs(t, err, execution.ErrNotFound)
}
