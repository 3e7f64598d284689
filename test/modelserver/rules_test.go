package modelserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/test/modelserver"
)

const weather = `{"type":"function","function":{"name":"weather","parameters":{"type":"object"}}}`

func chat(messages string) string { return `{"model":"m","stream":true,"messages":[` + messages + `]}` }

func called(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, `{"id":"`+id+`","type":"function","function":{"name":"weather","arguments":"{}"}}`)
	}
	return `{"role":"assistant","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func answered(id string) string { return `{"role":"tool","tool_call_id":"` + id + `","content":"3"}` }

const says = `{"role":"user","content":"Hi"}`

func TestRulesOfOpenAI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		want string // a part of the refusal; empty: accepted
	}{
		"a text":                      {chat(says), ""},
		"calls answered in any order": {chat(says + "," + called("a", "b") + "," + answered("b") + "," + answered("a")), ""},
		"a call without an answer":    {chat(says + "," + called("a", "b") + "," + answered("a") + "," + says), "did not have response messages: b"},
		"a call at the end":           {chat(says + "," + called("a")), "did not have response messages: a"},
		"a message in between":        {chat(called("a") + "," + says + "," + answered("a")), "did not have response messages: a"},
		"an answer to nothing":        {chat(says + "," + answered("a")), "must be a response to a preceding message"},
		"an answer twice":             {chat(called("a") + "," + answered("a") + "," + answered("a")), "must be a response"},
		"an id twice":                 {chat(called("a", "a") + "," + answered("a")), "Duplicate value for 'tool_call_id'"},
		"a long id":                   {chat(called(strings.Repeat("x", 41)) + "," + answered(strings.Repeat("x", 41))), "string too long"},
		"arguments that are no object": {
			chat(strings.Replace(called("a"), `"{}"`, `"half {"`, 1) + "," + answered("a")), "must be the text of a JSON object",
		},
		"a name that is none":            {chat(strings.Replace(called("a"), "weather", "no.such", 1) + "," + answered("a")), "does not match pattern"},
		"nothing said":                   {chat(`{"role":"assistant"}`), "expected a string, got null"},
		"a tool message without content": {chat(called("a") + `,{"role":"tool","tool_call_id":"a"}`), "missing field `content`"},
		"an unknown field":               {chat(`{"role":"user","content":"Hi","toolCalls":[]}`), "unknown field"},
		"a role that is none":            {chat(`{"role":"model","content":"Hi"}`), "is not one of"},
		"two tools of one name":          {strings.Replace(chat(says), `"messages"`, `"tools":[`+weather+`,`+weather+`],"messages"`, 1), "a name of its own"},
		"no tools":                       {strings.Replace(chat(says), `"messages"`, `"tools":[],"messages"`, 1), "too short"},
		"a schema that is no object": {
			strings.Replace(chat(says), `"messages"`, `"tools":[`+strings.Replace(weather, `"object"`, `"string"`, 1)+`],"messages"`, 1), "Invalid schema for function",
		},
		"usage without a stream": {`{"model":"m","stream_options":{"include_usage":true},"messages":[` + says + `]}`, "only allowed when 'stream'"},
		"JSON without the word":  {strings.Replace(chat(says), `"messages"`, `"response_format":{"type":"json_object"},"messages"`, 1), "must contain the word 'json'"},
		"a picture":              {chat(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://a/b.png"}}]}`), ""},
		"no bound":               {strings.Replace(chat(says), `"messages"`, `"max_tokens":0,"messages"`, 1), "below minimum value"},
	} {
		checkRule(t, name, "/v1/chat/completions", c.body, c.want)
	}
	// What the others say, and what they refuse beyond that.
	dangling := chat(says + "," + called("functions.weather:0"))
	checkRule(t, "deepseek", "/deepseek/v1/chat/completions", dangling, "(insufficient tool messages following tool_calls message)")
	checkRule(t, "kimi", "/kimi/v1/chat/completions", dangling, "did not have response messages: functions.weather:0")
	blank := chat(strings.Replace(says, "Hi", " ", 1))
	checkRule(t, "kimi: blank", "/kimi/v1/chat/completions", blank, "must not be empty")
	checkRule(t, "deepseek: parts", "/deepseek/v1/chat/completions", chat(`{"role":"user","content":[{"type":"text","text":"a"}]}`), "expected a string")
}

func message(messages ...string) string {
	roles := []string{"user", "assistant"}
	var all []string
	for i, content := range messages {
		all = append(all, `{"role":"`+roles[i%2]+`","content":[`+content+`]}`)
	}
	return `{"model":"m","max_tokens":5,"tools":[{"name":"weather","input_schema":{"type":"object"}}],"messages":[` + strings.Join(all, ",") + `]}`
}

const (
	text   = `{"type":"text","text":"Hi"}`
	use    = `{"type":"tool_use","id":"a","name":"weather","input":{}}`
	result = `{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"3"}]}`
)

func TestRulesOfAnthropic(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ body, want string }{
		"a text":                  {message(text), ""},
		"a call and its result":   {message(text, text+","+use, result+","+text), ""},
		"a call without a result": {message(text, use, text), "`tool_use` ids were found without `tool_result` blocks immediately after: a"},
		"a call at the end":       {message(text, use), "without `tool_result` blocks"},
		"a result to nothing":     {message(text, text, result), "unexpected `tool_use_id` found"},
		"a result twice":          {message(text, use, result+","+result), "must have a single result"},
		"a result behind a text":  {message(text, use, text+","+result), "must come first"},
		"a result too late":       {message(text, use, result, text, result), "unexpected `tool_use_id`"},
		"an id twice":             {message(text, use, result, use, result), "ids must be unique"},
		"an id that is none":      {message(text, strings.Replace(use, `"a"`, `"functions.x:0"`, 1), text), "should match pattern"},
		"a name that is none":     {message(text, strings.Replace(use, "weather", "no.such", 1), text), "should match pattern"},
		"an input that is none":   {message(text, strings.Replace(use, "{}", `"x"`, 1), text), "valid dictionary"},
		"an error without a text": {message(text, use, `{"type":"tool_result","tool_use_id":"a","is_error":true}`), "cannot be empty if `is_error`"},
		"a blank text":            {message(strings.Replace(text, "Hi", " ", 1)), "non-whitespace text"},
		"an empty message":        {message(""), "non-empty content"},
		"two users in a row":      {strings.Replace(message(text, text), "assistant", "user", 1), "must alternate"},
		"no bound":                {strings.Replace(message(text), `"max_tokens":5,`, "", 1), "max_tokens: Field required"},
		"calls but no tools":      {strings.Replace(message(text, use, result), `"tools":[{"name":"weather","input_schema":{"type":"object"}}],`, "", 1), "must define tools"},
		"a schema without a type": {strings.Replace(message(text), `{"type":"object"}`, `{}`, 1), "input_schema.type"},
		"an unknown field":        {strings.Replace(message(text), `"model"`, `"maxTokens":3,"model"`, 1), "unknown field"},
		"thinking unsigned":       {message(text, `{"type":"thinking","thinking":"hm","signature":""},`+text), "not allowed"},
		"thinking signed":         {message(text, `{"type":"thinking","thinking":"hm","signature":"s"},`+text), ""},
		"thinking without room": {
			strings.Replace(message(text), `"model"`, `"thinking":{"type":"enabled","budget_tokens":2048},"model"`, 1), "must be greater than",
		},
		"a call of the turn without its thinking": {
			strings.Replace(message(text, use, result), `"max_tokens":5,`, `"max_tokens":5000,"thinking":{"type":"enabled","budget_tokens":2048},`, 1),
			"Expected `thinking`",
		},
		"a picture of an address":  {message(`{"type":"image","source":{"type":"url","url":"https://a/b.png"}}`), ""},
		"a picture from elsewhere": {message(`{"type":"image","source":{"type":"url","url":"file:///etc/passwd"}}`), "base64 or url"},
	} {
		checkRule(t, name, "/v1/messages", c.body, c.want)
	}
}

func checkRule(t *testing.T, name, path, body, want string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://127.0.0.1"+path, nil)
	require.NoError(t, err)
	err = modelserver.Check(r, []byte(body))
	if want == "" {
		require.NoError(t, err, name)
		return
	}
	require.ErrorContains(t, err, want, name)
}
