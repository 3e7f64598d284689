package local_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/backend/local/httptool"
	"github.com/pawl-run/pawl/backend/local/human"
	"github.com/pawl-run/pawl/backend/local/scripted"
)

func definition(name string) *agent.Definition {
	return &agent.Definition{
		Name:  name,
		Model: agent.Model{Provider: "scripted", Turns: []agent.ScriptedTurn{{Text: "hi"}}},
		Tools: []agent.Tool{
			{Name: "lookup", Type: agent.ToolHTTP, URL: "http://127.0.0.1:1/x", Headers: map[string]string{"X-Key": "${KEY}"}},
			{Name: "confirm", Type: agent.ToolHuman},
		},
	}
}

func config(t *testing.T, built *atomic.Int32) local.BuilderConfig {
	t.Helper()
	client, err := httptool.NewClient(httptool.Config{})
	require.NoError(t, err)
	return local.BuilderConfig{
		Models: map[string]local.ModelFactory{
			"scripted": func(ctx context.Context, d *agent.Definition, lookup local.Lookup) (local.Model, error) {
				built.Add(1)
				return scripted.Factory(ctx, d, lookup)
			},
		},
		Tools: map[agent.ToolType]local.ToolFactory{agent.ToolHTTP: client.Factory, agent.ToolHuman: human.Factory},
		Lookup: func(name string) (string, bool) {
			return "s3cret\nvalue", name == "BAD"
		},
	}
}

func TestBuilderBuildsAKitOncePerDefinition(t *testing.T) {
	t.Parallel()
	var built atomic.Int32
	cfg := config(t, &built)
	cfg.Lookup = func(string) (string, bool) { return "v", true }
	kits, err := local.NewBuilder(cfg)
	require.NoError(t, err)

	var wg sync.WaitGroup
	results := make([]*local.Kit, 16)
	for i := range results {
		wg.Go(func() {
			kit, err := kits.Build(t.Context(), definition("a")) // equal, not the same
			if err == nil {
				results[i] = kit
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, built.Load())
	for _, kit := range results {
		require.Same(t, results[0], kit)
	}
	require.NotNil(t, results[0].Tool("lookup"))
	require.NotNil(t, results[0].Tool("confirm"))
	require.Nil(t, results[0].Tool("absent"))
}

func TestBuilderKeepsABoundedNumberOfKits(t *testing.T) {
	t.Parallel()
	var built atomic.Int32
	cfg := config(t, &built)
	cfg.Lookup = func(string) (string, bool) { return "v", true }
	cfg.MaxKits = 2
	kits, err := local.NewBuilder(cfg)
	require.NoError(t, err)
	for _, name := range []string{"a", "b", "a", "c", "a", "b"} { // c drops b
		_, err := kits.Build(t.Context(), definition(name))
		require.NoError(t, err)
	}
	require.EqualValues(t, 4, built.Load())
}

func TestBuilderErrorsNameAgentAndToolAndNoSecret(t *testing.T) {
	t.Parallel()
	var built atomic.Int32
	kits, err := local.NewBuilder(config(t, &built))
	require.NoError(t, err)

	_, err = kits.Build(t.Context(), definition("shop"))
	require.EqualError(t, err, `build agent "shop": tool "lookup": headers.X-Key: the environment variable KEY is not set`)

	bad := definition("shop")
	bad.Tools[0].Headers["X-Key"] = "${BAD}"
	_, err = kits.Build(t.Context(), bad)
	require.EqualError(t, err, `build agent "shop": tool "lookup": headers.X-Key: must not hold line breaks or control characters`)

	bad = definition("shop")
	bad.Tools[0].URL = "http://${BAD}/"
	_, err = kits.Build(t.Context(), bad)
	require.EqualError(t, err, `build agent "shop": tool "lookup": url: is not a URL`)

	bad = definition("shop")
	bad.Model.Provider = "oracle"
	_, err = kits.Build(t.Context(), bad)
	require.ErrorIs(t, err, local.ErrUnsupported)
	require.ErrorContains(t, err, `build agent "shop": model provider "oracle"`)

	bad = definition("shop")
	bad.Tools[1].Type = "carrier_pigeon"
	bad.Tools = bad.Tools[1:]
	_, err = kits.Build(t.Context(), bad)
	require.ErrorIs(t, err, local.ErrUnsupported)
	require.ErrorContains(t, err, `tool "confirm": type "carrier_pigeon"`)
}

func TestBuilderTriesAgainAfterAnError(t *testing.T) {
	t.Parallel()
	calls := 0
	kits, err := local.NewBuilder(local.BuilderConfig{Models: map[string]local.ModelFactory{
		"scripted": func(_ context.Context, d *agent.Definition, _ local.Lookup) (local.Model, error) {
			if calls++; calls == 1 {
				return nil, errors.New("not yet")
			}
			return scripted.New(d.Model)
		},
	}})
	require.NoError(t, err)
	d := definition("a")
	d.Tools = nil
	_, err = kits.Build(t.Context(), d)
	require.ErrorContains(t, err, "not yet")
	_, err = kits.Build(t.Context(), d)
	require.NoError(t, err)
}

func TestBuilderWaiterLeavesWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	begun, finish := make(chan struct{}), make(chan struct{})
	kits, err := local.NewBuilder(local.BuilderConfig{Models: map[string]local.ModelFactory{
		"scripted": func(_ context.Context, d *agent.Definition, _ local.Lookup) (local.Model, error) {
			close(begun)
			<-finish
			return scripted.New(d.Model)
		},
	}})
	require.NoError(t, err)
	d := definition("a")
	d.Tools = nil
	done := make(chan error, 1)
	go func() {
		_, err := kits.Build(context.WithoutCancel(t.Context()), d)
		done <- err
	}()
	<-begun
	cause := errors.New("shutdown")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err = kits.Build(ctx, d)
	require.ErrorIs(t, err, cause)
	close(finish)
	require.NoError(t, <-done)
}

func TestNewBuilderValidates(t *testing.T) {
	t.Parallel()
	_, err := local.NewBuilder(local.BuilderConfig{MaxKits: -1})
	require.ErrorContains(t, err, "MaxKits")
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	err := fmt.Errorf("call: %w", &local.Error{Kind: local.Unknown, Code: "tool_failed", Message: "it broke", Err: cause})
	require.Equal(t, local.Unknown, local.KindOf(err))
	require.ErrorIs(t, err, cause)
	require.EqualError(t, err, "call: tool_failed: it broke")
	require.Equal(t, local.Permanent, local.KindOf(cause))
}

func TestBuilderThatPanicsKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	var built atomic.Int32
	cfg := config(t, &built)
	cfg.Lookup = func(string) (string, bool) { return "v", true }
	cfg.Models["scripted"] = func(ctx context.Context, d *agent.Definition, lookup local.Lookup) (local.Model, error) {
		if built.Add(1) == 1 {
			panic("on the first try")
		}
		return scripted.Factory(ctx, d, lookup)
	}
	kits, err := local.NewBuilder(cfg)
	require.NoError(t, err)
	require.PanicsWithValue(t, "on the first try", func() { _, _ = kits.Build(t.Context(), definition("a")) })
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	kit, err := kits.Build(ctx, definition("a"))
	require.NoError(t, err)
	require.NotNil(t, kit)
	require.EqualValues(t, 2, built.Load())
}
