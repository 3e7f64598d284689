package execution_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestLimitsKeepTheirDeadlineInMilliseconds(t *testing.T) {
	t.Parallel()
	limits := execution.Limits{MaxTurns: 3, MaxTotalTokens: 9, Deadline: 24 * time.Hour, SuspendOnExceeded: true}
	text, err := json.Marshal(limits)
	require.NoError(t, err)
	require.JSONEq(t, `{"maxTurns":3,"maxTotalTokens":9,"deadlineMs":86400000,"suspendOnExceeded":true}`, string(text))

	var read execution.Limits
	require.NoError(t, json.Unmarshal(text, &read))
	require.Equal(t, limits, read)

	text, err = json.Marshal(execution.Limits{Deadline: time.Microsecond})
	require.NoError(t, err)
	require.JSONEq(t, `{"deadlineMs":1}`, string(text), "a short deadline is not none")

	require.ErrorContains(t, json.Unmarshal([]byte(`{"maxPatience":1}`), &read), "maxPatience")
	require.Error(t, json.Unmarshal([]byte(`{"deadlineMs":9223372036854775807}`), &read))
}
