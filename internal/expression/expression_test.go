package expression_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/internal/expression"
)

func TestConditionsOverArguments(t *testing.T) {
	t.Parallel()
	for text, cases := range map[string]map[string]bool{
		`arguments.amount > 100`:                               {`{"amount":100}`: false, `{"amount":100.5}`: true},
		`arguments.amount * 2.0 >= 100.0`:                      {`{"amount":50}`: true, `{"amount":49.9}`: false},
		`arguments.to == "boss@example.com"`:                   {`{"to":"boss@example.com"}`: true, `{"to":"x"}`: false},
		`has(arguments.force) && arguments.force`:              {`{}`: false, `{"force":true}`: true},
		`arguments.path.startsWith("/etc/")`:                   {`{"path":"/etc/passwd"}`: true, `{"path":"/tmp"}`: false},
		`arguments.rows.exists(r, r.kind == "delete")`:         {`{"rows":[{"kind":"add"}]}`: false, `{"rows":[{"kind":"delete"}]}`: true},
		`size(arguments.ids) > 2 || "all" in arguments`:        {`{"ids":[1,2]}`: false, `{"ids":[1,2,3]}`: true},
		`!(arguments.currency in ["EUR", "USD"])`:              {`{"currency":"EUR"}`: false, `{"currency":"XAU"}`: true},
		`arguments.flag`:                                       {`{"flag":true}`: true, `{"flag":false}`: false},
		`arguments.count == 3 && arguments.note.matches("a+")`: {`{"count":3,"note":"aa"}`: true, `{"count":4,"note":"aa"}`: false},
	} {
		condition, err := expression.Compile(text)
		require.NoError(t, err, text)
		for arguments, want := range cases {
			got, err := condition.Holds(t.Context(), json.RawMessage(arguments))
			require.NoError(t, err, "%s over %s", text, arguments)
			require.Equal(t, want, got, "%s over %s", text, arguments)
		}
	}
}

func TestMistakesInTheTextAreNamed(t *testing.T) {
	t.Parallel()
	for text, part := range map[string]string{
		``:                        "not valid",
		`arguments.amount >`:      "line 1, column 19",
		`amount > 5`:              "undeclared reference to 'amount'",
		`arguments.amount + 1`:    "not true or false",
		`"always"`:                "not true or false",
		`size(arguments)`:         "not true or false",
		`arguments.nope(3)`:       "undeclared reference to 'nope'",
		strings.Repeat("a", 5000): "longer than 4096",
	} {
		_, err := expression.Compile(text)
		require.ErrorContains(t, err, part, text)
		require.NotContains(t, err.Error(), "\n")
	}
}

func TestWhatCannotBeEvaluatedIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range [][2]string{
		{`arguments.amount > 100`, `{}`},
		{`arguments.amount > 100`, `{"amount":"many"}`},
		{`arguments.amount > 100`, `[1]`},
		{`arguments.amount > 100`, `not JSON`},
		{`arguments.a.b.c`, `{"a":null}`},
		{`arguments.flag`, `{"flag":"yes"}`},
		{`arguments.x / 0.0 > 1.0 || arguments.y`, `{"x":"z"}`},
	} {
		condition, err := expression.Compile(c[0])
		require.NoError(t, err)
		_, err = condition.Holds(t.Context(), json.RawMessage(c[1]))
		require.Error(t, err, "%s over %s", c[0], c[1])
	}
	none, err := expression.Compile(`size(arguments) == 0`)
	require.NoError(t, err)
	got, err := none.Holds(t.Context(), json.RawMessage(`null`))
	require.NoError(t, err)
	require.True(t, got)
}

func TestCostIsBoundedWhateverTheArguments(t *testing.T) {
	t.Parallel()
	condition, err := expression.Compile(
		`arguments.a.all(x, arguments.a.all(y, arguments.a.all(z, x + y + z >= 0.0)))`)
	require.NoError(t, err)
	numbers, err := json.Marshal(map[string]any{"a": make([]int, 2000)})
	require.NoError(t, err)
	began := time.Now()
	_, err = condition.Holds(t.Context(), numbers)
	require.ErrorContains(t, err, "cost")
	require.Less(t, time.Since(began), time.Minute, "all of it would take hours")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = condition.Holds(canceled, numbers)
	require.Error(t, err)
}

func TestConditionIsUsedByManyAtOnce(t *testing.T) {
	t.Parallel()
	condition, err := expression.Compile(`arguments.n > 10`)
	require.NoError(t, err)
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			for n := range 50 {
				arguments, err := json.Marshal(map[string]int{"n": n + i})
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := condition.Holds(t.Context(), arguments); err != nil || got != (n+i > 10) {
					t.Errorf("n = %d: %v, %v", n+i, got, err)
				}
			}
		})
	}
	wait.Wait()
}
