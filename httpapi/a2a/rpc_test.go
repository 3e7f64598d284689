package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	sdk "github.com/a2aproject/a2a-go/a2a"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestErrorsAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	before := store.Dump()
	send := func(params string) string {
		return `{"jsonrpc":"2.0","id":"a","method":"message/send","params":` + params + `}`
	}
	said := func(fields string) string {
		return send(`{"message":{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]` + fields + `}}`)
	}
	for body, code := range map[string]int{
		``:                                    -32700,
		`{`:                                   -32700,
		`[]`:                                  -32600,
		`5`:                                   -32600,
		`{"jsonrpc":"1.0","id":1}`:            -32600,
		`{"jsonrpc":"2.0","method":"x"}`:      -32600,
		`{"jsonrpc":"2.0","id":{}}`:           -32600,
		`{"jsonrpc":"2.0","id":1,"method":5}`: -32600,
		`{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{}}`:            -32601,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get"}`:                          -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":[]}`:              -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":5}}`:        -32602,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"id":"x"}}`:      -32001,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"id":"x"}}`:   -32001,
		`{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{}}`:           -32602,
		`{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}`: -32007,
		send(`{}`): -32602,
		send(`{"message":{"messageId":"m","role":"user","parts":[]}}`):                                        -32602,
		send(`{"message":{"messageId":"m","role":"agent","parts":[{"kind":"text","text":"hi"}]}}`):            -32602,
		send(`{"message":{"role":"user","parts":[{"kind":"text","text":"hi"}]}}`):                             -32602,
		send(`{"message":{"messageId":"m","role":"user","parts":[{"kind":"text","text":""}]}}`):               -32602,
		send(`{"message":{"messageId":"m","role":"user","parts":[{"kind":"sound"}]}}`):                        -32602,
		send(`{"message":{"messageId":"m","role":"user","parts":[{"kind":"file","file":{"bytes":"AA=="}}]}}`): -32005,
		said(`,"contextId":"a b"`):                    -32602,
		said(`,"taskId":"x"`):                         -32001,
		said(`},"configuration":{"historyLength":-1`): -32602,
		said(`},"configuration":{"pushNotificationConfig":{"url":"http://10.0.0.1/x"}`):              -32602,
		said(`},"configuration":{"pushNotificationConfig":{"url":"https://169.254.169.254/latest"}`): -32602,
	} {
		response, text := p.rpc("/a2a/demo", body)
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		var answer struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Error   struct {
				Code    int            `json:"code"`
				Message string         `json:"message"`
				Data    map[string]any `json:"data"`
			} `json:"error"`
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer), text)
		require.Equal(t, code, answer.Error.Code, "%s: %s", body, text)
		require.Equal(t, answer.Error.Message, answer.Error.Data["error"])
		require.Equal(t, before, store.Dump(), "nothing is written: %s", body)
	}
}

func TestAnotherVersionIsRefusedByName(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	const call = `{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"id":"x"}}`
	_, text := p.rpc("/a2a/demo", call, "A2A-Version: 1.0")
	require.Contains(t, text, `"code":-32009`)
	require.Contains(t, text, "this endpoint speaks 0.3")
	require.Contains(t, text, `"id":7`)
	for _, version := range []string{"0.3", "0.3.0"} {
		_, text = p.rpc("/a2a/demo", call, "A2A-Version: "+version)
		require.Contains(t, text, fmt.Sprint(-32001), version)
	}
}

func TestFieldsOfTheLinkHaveTheNamesOfTheProtocol(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	m := message("m1", "hello")
	m.ContextID = "no context id"
	_, err := trySend(t, p.client("demo"), m)
	require.ErrorContains(t, err, "message.contextId")
	m.ContextID = string(execution.NewConversationID(7))
	_, err = trySend(t, p.client("demo"), m)
	require.ErrorIs(t, err, sdk.ErrInvalidParams, "ids that Pawl makes are taken from it only")
	require.ErrorContains(t, err, "message.contextId")
	picture := &sdk.Message{ID: "m2", Role: sdk.MessageRoleUser, Parts: sdk.ContentParts{
		sdk.TextPart{Text: "What is this?"}, sdk.FilePart{File: sdk.FileBytes{FileMeta: sdk.FileMeta{MimeType: "image/png"}, Bytes: "no base64"}},
	}}
	_, err = trySend(t, p.client("demo"), picture)
	require.ErrorContains(t, err, "message.parts")
}
