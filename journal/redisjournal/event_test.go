package redisjournal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/journal"
)

func TestEventsAreStoredShort(t *testing.T) {
	t.Parallel()
	seen := map[byte]bool{}
	for _, e := range eventLetters() {
		require.False(t, seen[e.letter], "%c stands for two types", e.letter)
		seen[e.letter] = true
	}
	for stored, payload := range map[string]execution.Payload{
		`q`:                                execution.ExecutionQueued{},
		`m"turn":3,"invocationId":"inv_1"`: execution.ModelStarted{Turn: 3, InvocationID: "inv_1"},
		`w"code":"}","message":"{\"type\":\"a\"}"`: execution.Warning{Code: "}", Message: `{"type":"a"}`},
	} {
		long, err := execution.EncodePayload(payload)
		require.NoError(t, err)
		require.Equal(t, stored, shortEvent(payload.EventType(), long))
		require.Equal(t, string(long), string(longEvent(stored)))
		require.Equal(t, string(long), string(longEvent(string(long))), "logs written before are read")
	}
	var e encoder
	parts := e.retry(journal.Retry{Node: `a "attempt":0`, Code: `"atMs":0`, Message: `"attempt":0 "atMs":0`})
	require.JSONEq(t, `{"type":"retry_scheduled","node":"a \"attempt\":0","attempt":7,"atMs":12,"code":"\"atMs\":0","message":"\"attempt\":0 \"atMs\":0"}`,
		string(longEvent(parts[0]+"7"+parts[1]+"12"+parts[2])))
	require.NoError(t, e.err)
}

// What is stored and cannot be read has a place, a time if that is legible, and a reason that shows nothing of it.
func TestAnEventThatCannotBeReadSaysWhy(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]struct {
		ms  int64
		err error
	}{
		"":                         {0, errEventTime},
		" ":                        {0, errEventTime},
		"q":                        {0, errEventTime},
		"\x00\xff":                 {0, errEventTime},
		"-5 q":                     {0, errEventTime},
		"99999999999999999999 q":   {0, errEventTime},
		"12":                       {12, errEventBody},
		"12 ":                      {12, errEventBody},
		"12 ?":                     {12, errEventBody},
		`12 m"turn":3`:             {12, nil},
		`12 m"turn":"3"`:           {12, errEventBody},
		`12 m"turn":3,"invoca`:     {12, errEventBody},
		`12 {"type":"tea"}`:        {12, errEventType},
		`12 {"type":7}`:            {12, errEventBody},
		`12 null`:                  {12, errEventType},
		`12 []`:                    {12, errEventBody},
		`12 {"type":"unreadable"}`: {12, nil},
	} {
		event, err := decodeEvent(stored, 9)
		require.Equal(t, want.err, err, "%q", stored) //nolint:testifylint // the reason itself, nothing of what is stored in it
		require.EqualValues(t, 9, event.Sequence)
		require.Equal(t, want.ms, event.OccurredAtMs, "%q", stored)
		if err != nil {
			require.Equal(t, &execution.UnreadableEvent{}, event.Payload, "%q", stored)
		}
	}
}
