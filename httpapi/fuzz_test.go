package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

// FuzzDecodeStrict: a body is decoded, and then encoding/json in its strict mode agrees; or it is refused by an error
// that names a field. Nothing panics.
func FuzzDecodeStrict(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `null`, `{"agent":"demo","input":{"type":"user_message","text":"x"},"metadata":{"a":"b"},"startAtMs":1}`,
		`{"operationId":"o","input":{"type":"tool_approval","decisions":[{"callId":"c","decision":"answer","answer":{"a":[1]}}]}}`,
		`{"agent":null}`, `{"agent":"a","agent":"b"}`, `{"input":{"foo":1}}`, `{"a`, `{} {}`, "{\"agent\":\"\xff\"}",
		`{"startAtMs":1e3}`, `{"startAtMs":-0}`, `{"":1}`, `{"metadata":{"":""}}`, `{"input":{"decisions":[]}}`,
		`{"agent":"a","model":"m","generation":{"temperature":1e400,"topP":0.5},"limits":{"deadlineMs":1,"maxCost":-1}}`,
		`{"agent":"a","outputSchema":{"a":[{}]},"frontendTools":[{"name":"n","parameters":{}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, out := range []any{&execution.CreateRequest{}, &execution.SubmitInput{}} {
			err := decodeStrict(body, out)
			if err != nil {
				var api *execution.APIError
				require.True(t, errors.As(err, &api))
				require.Contains(t, []execution.ErrorCode{execution.InvalidRequest, execution.UnknownField}, api.Code)
				continue
			}
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(out))
		}
	})
}

func TestARefusalNamesItsField(t *testing.T) {
	t.Parallel()
	err := decodeStrict([]byte(`{"":1}`), &execution.CreateRequest{})
	var api *execution.APIError
	require.ErrorAs(t, err, &api)
	require.Equal(t, execution.UnknownField, api.Code)
	require.Equal(t, `""`, api.Field, "even a field without a name has one")
}
