package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wrong is an error as a client's developer sees it.
type wrong struct {
	Error struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Code  string `json:"code"`
			Field string `json:"field"`
		} `json:"data"`
	} `json:"error"`
}

func call(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","method":%q,"params":%s}`, method, params)
}

// What a client's developer gets wrong first is answered with the field's name and what is wanted there; nothing is written.
func TestAMalformedRequestNamesTheField(t *testing.T) {
	t.Parallel()
	store := memory(t)
	p := serve(t, store, change{})
	before := store.Dump()
	const whole = `"messageId":"m","role":"user","parts":[{"kind":"text","text":"hi"}]`
	said := func(fields string) string { return call("message/send", `{"message":{`+fields+`}}`) }
	parts := func(list string) string { return said(`"messageId":"m","role":"user","parts":` + list) }
	configured := func(fields string) string {
		return call("message/send", `{"message":{`+whole+`},"configuration":{`+fields+`}}`)
	}
	for body, text := range map[string]string{
		call("message/send", `{}`):                     `message: is required`,
		call("message/send", `{"message":null}`):       `message: is required`,
		call("message/send", `{"message":"hi"}`):       `message: must be an object, not text`,
		call("message/stream", `{"message":[]}`):       `message: must be an object, not a list`,
		said(`"role":"user","parts":[]`):               `message.messageId: is required`,
		said(`"messageId":7,"role":"user","parts":[]`): `message.messageId: must be text, not a number`,
		said(`"messageId":"m","parts":[]`):             `message.role: must be "user"`,
		said(`"messageId":"m","role":"ROLE_USER"`):     `message.role: must be "user"`,
		said(`"messageId":"m","role":{"x":1}`):         `message.role: must be text, not an object`,
		said(`"messageId":"m","role":"user"`):          `message.parts: must not be empty`,
		said(whole + `,"kind":"task"`):                 `message.kind: must be "message"`,
		said(whole + `,"taskId":5`):                    `message.taskId: must be text, not a number`,
		said(whole + `,"contextId":true`):              `message.contextId: must be text, not true or false`,
		said(whole + `,"metadata":[]`):                 `message.metadata: must be an object, not a list`,
		said(whole + `,"referenceTaskIds":["a",1]`):    `message.referenceTaskIds[1]: must be text, not a number`,
		parts(`[]`):                            `message.parts: must not be empty`,
		parts(`"hi"`):                          `message.parts: must be a list, not text`,
		parts(`["hi"]`):                        `message.parts[0]: must be an object, not text`,
		parts(`[null]`):                        `message.parts[0]: must be an object, not null`,
		parts(`[{"text":"hi"}]`):               `message.parts[0].kind: is required: "text", "data" or "file"`,
		parts(`[{"type":"text","text":"hi"}]`): `message.parts[0].kind: is required: "text", "data" or "file"`,
		parts(`[{"kind":"sound"}]`):            `message.parts[0].kind: must be "text", "data" or "file", not "sound"`,
		parts(`[{"kind":["text"]}]`):           `message.parts[0].kind: must be "text", "data" or "file", not a list`,
		parts(`[{"kind":"text"}]`):             `message.parts[0].text: is required`,
		parts(`[{"kind":"text","text":"a"},{"kind":"data"}]`):      `message.parts[1].data: is required`,
		parts(`[{"kind":"data","data":[1]}]`):                      `message.parts[0].data: must be an object, not a list`,
		parts(`[{"kind":"text","text":1}]`):                        `message.parts[0].text: must be text, not a number`,
		parts(`[{"kind":"file","file":"x"}]`):                      `message.parts[0].file: must be an object, not text`,
		parts(`[{"kind":"file","file":{}}]`):                       `message.parts[0].file: must have bytes or uri, one of them`,
		parts(`[{"kind":"file","file":{"uri":"a","bytes":"b"}}]`):  `message.parts[0].file: must have bytes or uri, one of them`,
		parts(`[{"kind":"file","file":{"uri":"a","mimeType":1}}]`): `message.parts[0].file.mimeType: must be text, not a number`,
		configured(`"blocking":"no"`):                              `configuration.blocking: must be true or false, not text`,
		configured(`"historyLength":1.5`):                          `configuration.historyLength: must be a whole number, not 1.5`,
		configured(`"historyLength":"1"`):                          `configuration.historyLength: must be a whole number, not text`,
		configured(`"historyLength":-1`):                           `configuration.historyLength: must not be negative`,
		configured(`"acceptedOutputModes":"text/plain"`):           `configuration.acceptedOutputModes: must be a list, not text`,
		configured(`"pushNotificationConfig":{}`):                  `configuration.pushNotificationConfig.url: is required`,
		configured(`"pushNotificationConfig":{"url":1}`):           `configuration.pushNotificationConfig.url: must be text, not a number`,
		call("tasks/get", `{}`):                                    `id: is required`,
		call("tasks/get", `{"id":5}`):                              `id: must be text, not a number`,
		call("tasks/get", `{"id":"x","historyLength":1e2}`):        `historyLength: must be a whole number, not 1e2`,
		call("tasks/cancel", `{"id":{}}`):                          `id: must be text, not an object`,
		call("tasks/resubscribe", `{"id":"x","metadata":1}`):       `metadata: must be an object, not a number`,
		call("tasks/pushNotificationConfig/set", `{}`):             `taskId: is required`,
		call("tasks/pushNotificationConfig/set", `{"taskId":"x"}`): `pushNotificationConfig: is required`,
		call("tasks/pushNotificationConfig/get", `{"id":1}`):       `id: must be text, not a number`,
	} {
		response, answered := p.rpc("/a2a/demo", body)
		require.Equal(t, http.StatusOK, response.StatusCode, body)
		var answer wrong
		// An error of a stream comes by the stream, when it has begun.
		require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(strings.TrimSpace(answered), "data: ")), &answer), answered)
		require.Equal(t, -32602, answer.Error.Code, "%s: %s", body, answered)
		require.True(t, strings.HasPrefix(answer.Error.Message, "invalid params: "+text), "%s: %s", body, answered)
		require.Equal(t, strings.SplitN(text, ": ", 2)[0], answer.Error.Data.Field, body)
		require.Equal(t, "invalid_request", answer.Error.Data.Code)
		require.Equal(t, before, store.Dump(), "nothing is written: %s", body)
	}
}

// Fields that nobody knows, and ones that are null, are passed over.
func TestWhatTheProtocolAllowsIsTaken(t *testing.T) {
	t.Parallel()
	p := serve(t, memory(t), change{})
	for i, message := range []string{
		`"parts":[{"kind":"text","text":"hi","color":"red","metadata":null}],"metadata":null,"taskId":null,"extensions":null`,
		`"kind":"message","parts":[{"kind":"data","data":{}},{"kind":"text","text":"hi","metadata":{"a":1}}],"reply":{"to":1}`,
	} {
		_, text := p.rpc("/a2a/demo", call("message/send",
			fmt.Sprintf(`{"message":{"messageId":"m%d","role":"user",%s},"configuration":{"blocking":false,"historyLength":null},"x":1}`, i, message)))
		require.Contains(t, text, `"state":"submitted"`)
	}
}
