package local_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/backend/local"
	"github.com/pawl-run/pawl/execution"
)

// theirTools is a delegated set, which counts what is asked of those that are lent.
type theirTools struct {
	*someTools
	lent, ended, asked *int
}

func (s theirTools) Spec() local.ToolSpec {
	return local.ToolSpec{Name: string(s.plainTool), Delegated: true}
}

func (s theirTools) Tools(ctx context.Context) ([]local.Tool, error) {
	*s.asked++
	return s.someTools.Tools(ctx)
}

func (s theirTools) For(claim local.Claim) (set local.ToolSet, done func(bool)) {
	*s.lent++
	_, err := claim.Bearer(context.Background(), execution.Credential{})
	return theirTools{&someTools{plainTool: s.plainTool, tools: s.tools, err: err}, s.lent, s.ended, s.asked}, func(goesOn bool) {
		if *s.ended++; goesOn {
			*s.ended += 10
		}
	}
}

func TestAClaimsKitHasDelegatedSetsOfItsOwn(t *testing.T) {
	t.Parallel()
	var lent, ended, asked int
	set := theirTools{&someTools{plainTool: "s", tools: []local.Tool{plainTool("s_a")}}, &lent, &ended, &asked}
	open := &someTools{plainTool: "o", tools: []local.Tool{plainTool("o_a")}}
	kit := &local.Kit{Model: silent{}, Tools: []local.Tool{plainTool("a"), open, set}}
	bearer := func(context.Context, execution.Credential) (execution.Credential, error) {
		return execution.NewCredential("token"), nil
	}
	own, done := kit.For(local.Claim{Bearer: bearer})
	require.NotSame(t, kit, own)
	require.Equal(t, 1, lent)
	require.Equal(t, kit.Tools[:2], own.Tools[:2], "the others are shared")
	require.Equal(t, set, kit.Tools[2], "the kit of all is as it was")
	require.NotNil(t, own.Tool("s_a"))

	own.Ask(t.Context(), []string{"a", "o_a", "s_b"})
	require.Zero(t, asked, "none of its tools is called")
	own.Ask(t.Context(), []string{"s_a", "s_a"})
	require.Equal(t, 1, asked)
	require.Zero(t, ended)
	done(true)
	require.Equal(t, 11, ended)

	kit = &local.Kit{Model: silent{}, Tools: []local.Tool{plainTool("a"), open}}
	own, done = kit.For(local.Claim{Bearer: bearer})
	require.Same(t, kit, own, "nothing is a claim's own")
	own.Ask(t.Context(), []string{"o_a"})
	done(false)
}
