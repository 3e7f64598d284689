package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/agent"
)

// lines of an agent around what a case declares; the case's own text begins in line 4.
const (
	modelLines = "agents:\n  demo:\n    model: {provider: scripted, turns: [{text: hi}]}\n"
	toolLines  = modelLines + "    tools:\n" // a tool begins in line 5
	turnLines  = "agents:\n  demo:\n    model:\n      provider: scripted\n      turns:\n"
)

func TestParseRefusesFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "f.yaml: is empty; it must have a key agents"},
		"comment only":      {"# nothing\n", "f.yaml: is empty; it must have a key agents"},
		"not UTF-8":         {"a: \xff", "f.yaml: is not UTF-8 text"},
		"binary":            {"a\x00", "f.yaml: holds a zero byte; it is not a text file"},
		"too large":         {strings.Repeat("#", 1<<20) + "\n", "f.yaml: is larger than 1 MiB"},
		"too deep":          {strings.Repeat("[", 300), "f.yaml: nests deeper than 200 levels"},
		"too deep in block": {"agents: " + strings.Repeat("\n- ", 1) + strings.Repeat("- ", 300) + "a", "the file is too large or nests too deeply here"},
		"alias bomb":        {bomb(), "the file is too large or nests too deeply here"},
		"syntax":            {"agents:\n  demo: [1\n", "f.yaml:2: is not valid YAML: "},
		"tab":               {"agents:\n\tdemo: 1\n", "f.yaml:2: is not valid YAML: "},
		"two documents":     {"agents: {}\n---\nb: 1\n", "f.yaml:3: a second YAML document is not supported"},
		"a list":            {"- 1\n", "f.yaml:1: must be a mapping, not a list"},
		"no agents":         {"other: 1\n", "f.yaml:1: agents: is required\nf.yaml:1: other: unknown key; known are agents"},
		"agents a list":     {"agents: [a]\n", "f.yaml:1: agents: must be a mapping, not a list"},
		"no agent":          {"agents:\n", "f.yaml:1: agents: must be a mapping, not nothing"},
		"agent is empty":    {"agents:\n  demo:\n", "f.yaml:2: agents.demo: must be a mapping, not nothing"},
		"agent name":        {"agents:\n  de mo: {model: {provider: scripted, turns: [{text: a}]}}\n", `f.yaml:2: agents."de mo": an agent's name has 1 to 64 characters of A-Z a-z 0-9 _ -`},
		"twice":             {modelLines + "    queue: a\n    queue: b\n", "f.yaml:5: agents.demo.queue: is there twice; the first is in line 4"},
		"unknown alias":     {modelLines + "    instructions: *x\n", "f.yaml:4: agents.demo.instructions: the alias *x names no anchor above it"},
		"merge key":         {modelLines + "    <<: {queue: a}\n", "f.yaml:4: agents.demo: the merge key << is not supported"},
		"tag":               {modelLines + "    instructions: !!str 12\n", "f.yaml:4: agents.demo.instructions: YAML tags are not supported"},
		"key not text":      {modelLines + "    1: a\n", "f.yaml:4: agents.demo.1: unknown key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.text, c.want)
		})
	}
}

// bomb is a small file whose aliases stand for a billion values.
func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [1]\n")
	for i := 1; i < 10; i++ {
		name, before := string(rune('a'+i)), "a0"
		if i > 1 {
			before = string(rune('a' + i - 1))
		}
		b.WriteString(name + ": &" + name + " [" + strings.Repeat("*"+before+", ", 9) + "*" + before + "]\n")
	}
	return b.String()
}

func TestParseRefusesAgents(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"no model":          {"agents:\n  demo:\n    queue: a\n", "f.yaml:2: agents.demo.model: is required"},
		"model is text":     {"agents:\n  demo:\n    model: gpt\n", "f.yaml:3: agents.demo.model: must be a mapping, not text"},
		"no provider":       {"agents:\n  demo:\n    model: {turns: []}\n", "f.yaml:3: agents.demo.model.provider: is required"},
		"other provider":    {"agents:\n  demo:\n    model: {provider: mine}\n", `f.yaml:3: agents.demo.model.provider: must be one of openai, anthropic, scripted, not "mine"`},
		"prices":            {"agents:\n  demo:\n    model:\n      provider: scripted\n      turns: [{text: a}]\n      prices: {}\n", "f.yaml:6: agents.demo.model.prices.inputPer1M: is required"},
		"unknown model key": {"agents:\n  demo:\n    model:\n      provider: scripted\n      turns: [{text: a}]\n      turn: 1\n", "f.yaml:6: agents.demo.model.turn: unknown key; known are fallback, images, prices, provider, structuredOutput, timeout, turns"},
		"endpoint":          {modelLines + "    endpoint: {url: \"http://a\"}\n", "f.yaml:4: agents.demo.endpoint: does not belong here: only agents of the backend a2a have one"},
		"other backend":     {modelLines + "    backend: moon\n", `f.yaml:4: agents.demo.backend: must be one of local, a2a, not "moon"`},
		"instructions":      {modelLines + "    instructions: 12\n", "f.yaml:4: agents.demo.instructions: must be text, not a number; put it in quotes"},
		"queue reserved":    {modelLines + "    queue: suspect\n", `f.yaml:4: agents.demo.queue: "suspect" is a queue of Pawl's own; choose another name`},
		"queue of priority": {modelLines + "    queue: default\n", "is a queue of Pawl's own"},
		"queue of new ones": {modelLines + "    queue: mine-new\n", "is a queue of Pawl's own"},
		"queue name":        {modelLines + "    queue: Mine\n", "f.yaml:4: agents.demo.queue: a queue's name has 1 to 32 characters of a-z 0-9 _ -"},
		"output schema":     {modelLines + "    outputSchema: {type: 7}\n", "f.yaml:4: agents.demo.outputSchema: is not a valid JSON Schema"},
		"output retries":    {modelLines + "    outputRetries: 1.5\n", "f.yaml:4: agents.demo.outputRetries: must be a whole number that fits 64 bits, not 1.5"},
		"huge retries":      {modelLines + "    outputRetries: 99999999999\n", "f.yaml:4: agents.demo.outputRetries: is too large"},
		"max cost":          {modelLines + "    limits: {maxCost: 1}\n", "f.yaml:4: agents.demo.limits.maxCost: needs the prices of every model that may be asked; agents.demo.model has none"},
		"limit as text":     {modelLines + "    limits: {maxTurns: ten}\n", "f.yaml:4: agents.demo.limits.maxTurns: must be a whole number, not text"},
		"deadline number":   {modelLines + "    limits: {deadline: 30}\n", "f.yaml:4: agents.demo.limits.deadline: must be a duration such as 200ms, 30s or 24h, not a number"},
		"deadline word":     {modelLines + "    limits: {deadline: 1d}\n", `must be a duration such as 200ms, 30s or 24h, not "1d"`},
		"deadline zero":     {modelLines + "    limits: {deadline: 0s}\n", "f.yaml:4: agents.demo.limits.deadline: must be longer than 0"},
		"deadline too fine": {modelLines + "    limits: {deadline: 1us}\n", "f.yaml:4: agents.demo.limits.deadline: must be whole milliseconds"},
		"on exceeded":       {modelLines + "    limits: {onExceeded: stop}\n", `f.yaml:4: agents.demo.limits.onExceeded: must be one of fail, suspend, not "stop"`},
		"turns no list":     {"agents:\n  demo:\n    model: {provider: scripted, turns: 1}\n", "f.yaml:3: agents.demo.model.turns: must be a list, not a number"},
		"turn without all":  {turnLines + "        - {delay: 1s}\n", "f.yaml:6: agents.demo.model.turns[0]: a turn needs text, toolCalls or error"},
		"turn with both":    {turnLines + "        - {text: a, error: {status: 500}}\n", "f.yaml:6: agents.demo.model.turns[0].error: a turn that fails has no text, toolCalls or usage"},
		"error status":      {turnLines + "        - {error: {status: 200}}\n", "f.yaml:6: agents.demo.model.turns[0].error.status: must be an HTTP error status, 400 to 599"},
		"no error status":   {turnLines + "        - {error: {}}\n", "f.yaml:6: agents.demo.model.turns[0].error.status: is required"},
		"turn key":          {turnLines + "        - {txt: a, text: b}\n", "f.yaml:6: agents.demo.model.turns[0].txt: unknown key"},
		"call name":         {turnLines + "        - toolCalls:\n            - {arguments: {}}\n", "f.yaml:7: agents.demo.model.turns[0].toolCalls[0].name: is required"},
		"call no number":    {turnLines + "        - toolCalls:\n            - {name: a, arguments: .nan}\n", "f.yaml:7: agents.demo.model.turns[0].toolCalls[0].arguments: is not a number JSON can hold"},
		"negative usage":    {turnLines + "        - {text: a, usage: {inputTokens: -1}}\n", "f.yaml:6: agents.demo.model.turns[0].usage.inputTokens: must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.text, c.want)
		})
	}
}

func TestParseRefusesTools(t *testing.T) {
	t.Parallel()
	const http = "      - {name: a, type: http, url: 'http://h/'"
	for name, c := range map[string]struct{ text, want string }{
		"no list":           {modelLines + "    tools: {}\n", "f.yaml:4: agents.demo.tools: must be a list, not a mapping"},
		"no name":           {toolLines + "      - {type: human}\n", "f.yaml:5: agents.demo.tools[0].name: is required"},
		"empty name":        {toolLines + "      - {name: '', type: human}\n", "f.yaml:5: agents.demo.tools[0].name: must not be empty"},
		"bad name":          {toolLines + "      - {name: a b, type: human}\n", "f.yaml:5: agents.demo.tools[0].name: a tool's name has 1 to 64 characters of A-Z a-z 0-9 _ -"},
		"long name":         {toolLines + "      - {name: " + strings.Repeat("a", 65) + ", type: human}\n", "f.yaml:5: agents.demo.tools[0].name: a tool's name"},
		"same name":         {toolLines + "      - {name: a, type: human}\n      - {name: a, type: human}\n", `f.yaml:6: agents.demo.tools[1].name: tool "a" is there twice; the first is tools[0]`},
		"no type":           {toolLines + "      - {name: a}\n", "f.yaml:5: agents.demo.tools[0].type: is required"},
		"mcp nothing":       {toolLines + "      - {name: a, type: mcp}\n", "f.yaml:5: agents.demo.tools[0].command: or url is required"},
		"mcp both":          {toolLines + "      - {name: a, type: mcp, command: [x], url: \"http://h\"}\n", "f.yaml:5: agents.demo.tools[0].command: and url exclude each other"},
		"mcp command":       {toolLines + "      - {name: a, type: mcp, command: x}\n", "f.yaml:5: agents.demo.tools[0].command: must be a list, not text"},
		"mcp no command":    {toolLines + "      - {name: a, type: mcp, command: []}\n", "f.yaml:5: agents.demo.tools[0].command: must name a program"},
		"mcp argument":      {toolLines + "      - {name: a, type: mcp, command: [x, 1]}\n", "f.yaml:5: agents.demo.tools[0].command[1]: must be text, not a number; put it in quotes"},
		"mcp secret":        {toolLines + "      - {name: a, type: mcp, command: [x, \"${K}\"]}\n", "f.yaml:5: agents.demo.tools[0].command[1]: must not hold a reference"},
		"mcp env name":      {toolLines + "      - {name: a, type: mcp, command: [x], env: {a-b: c}}\n", "f.yaml:5: agents.demo.tools[0].env.a-b: is not a variable's name"},
		"mcp env value":     {toolLines + "      - {name: a, type: mcp, command: [x], env: {A: \"${\"}}\n", "f.yaml:5: agents.demo.tools[0].env.A: malformed reference"},
		"mcp headers":       {toolLines + "      - {name: a, type: mcp, command: [x], headers: {A: b}}\n", "f.yaml:5: agents.demo.tools[0].headers: does not belong here: a server that is started has none"},
		"mcp auth":          {toolLines + "      - {name: a, type: mcp, url: \"http://h\", auth: oauth}\n", "f.yaml:5: agents.demo.tools[0].auth: must be one of delegation, not \"oauth\""},
		"mcp auth, header":  {toolLines + "      - {name: a, type: mcp, url: \"http://h\", auth: delegation, headers: {Authorization: x}}\n", "f.yaml:5: agents.demo.tools[0].auth: the header Authorization is set as well"},
		"mcp auth, started": {toolLines + "      - {name: a, type: mcp, command: [x], auth: delegation}\n", "f.yaml:5: agents.demo.tools[0].auth: does not belong here: a server that is started is not given tokens; only one that is reached by url is"},
		"auth of a human":   {toolLines + "      - {name: a, type: human, auth: delegation}\n", "f.yaml:5: agents.demo.tools[0].auth: does not belong here: only http and mcp tools have it"},
		"mcp url env":       {toolLines + "      - {name: a, type: mcp, url: \"http://h\", env: {A: b}}\n", "f.yaml:5: agents.demo.tools[0].env: does not belong here: only a server that is started has it"},
		"mcp allow":         {toolLines + "      - {name: a, type: mcp, command: [x], allow: []}\n", "f.yaml:5: agents.demo.tools[0].allow: must name a tool"},
		"mcp allow twice":   {toolLines + "      - {name: a, type: mcp, command: [x], allow: [b, b]}\n", "f.yaml:5: agents.demo.tools[0].allow[1]: \"b\" is there twice"},
		"mcp hints":         {toolLines + "      - {name: a, type: mcp, command: [x], trustHints: 1}\n", "f.yaml:5: agents.demo.tools[0].trustHints: must be true or false, not a number"},
		"mcp reconcile":     {toolLines + "      - {name: a, type: mcp, command: [x], recovery: reconcile}\n", "f.yaml:5: agents.demo.tools[0].recovery: reconcile needs a status probe"},
		"mcp recovery":      {toolLines + "      - {name: a, type: mcp, command: [x], recovery: {b: often}}\n", "f.yaml:5: agents.demo.tools[0].recovery.b: must be one of read_only, idempotent, unsafe"},
		"mcp not allowed":   {toolLines + "      - {name: a, type: mcp, command: [x], allow: [c], recovery: {b: unsafe}}\n", "f.yaml:5: agents.demo.tools[0].recovery.b: is not among the tools that allow names"},
		"mcp description":   {toolLines + "      - {name: a, type: mcp, command: [x], description: d}\n", "f.yaml:5: agents.demo.tools[0].description: does not belong here: an mcp server says it itself"},
		"mcp long name":     {toolLines + "      - {name: " + strings.Repeat("a", 33) + ", type: mcp, command: [x]}\n", "f.yaml:5: agents.demo.tools[0].name: of an mcp tool has at most 32 characters"},
		"mcp prefix":        {toolLines + "      - {name: a, type: mcp, command: [x]}\n      - {name: a_b, type: human}\n", "f.yaml:6: agents.demo.tools[1].name: \"a_b\" begins with \"a_\""},
		"mcp keys of http":  {toolLines + http + ", allow: [a]}\n", "f.yaml:5: agents.demo.tools[0].allow: does not belong here: only mcp tools have it"},
		"other type":        {toolLines + "      - {name: a, type: ftp}\n", `f.yaml:5: agents.demo.tools[0].type: must be one of http, mcp, human, agent, client, not "ftp"`},
		"unknown key":       {toolLines + http + ", retries: 1}\n", "f.yaml:5: agents.demo.tools[0].retries: unknown key; known are approval, auth, description, expiresAfter, headers, maxRetries, name, onExpiry, onUnknown, parameters, probe, recovery, sequential, timeout, type, url"},
		"no url":            {toolLines + "      - {name: a, type: http}\n", "f.yaml:5: agents.demo.tools[0].url: is required"},
		"relative url":      {toolLines + "      - {name: a, type: http, url: /x}\n", "f.yaml:5: agents.demo.tools[0].url: must be an absolute http or https URL"},
		"broken url":        {toolLines + "      - {name: a, type: http, url: 'http://[x'}\n", "f.yaml:5: agents.demo.tools[0].url: is not a URL"},
		"url with user":     {toolLines + "      - {name: a, type: http, url: 'http://u:secret@h'}\n", "f.yaml:5: agents.demo.tools[0].url: must not hold a user or password"},
		"url fragment":      {toolLines + "      - {name: a, type: http, url: 'http://h/#a'}\n", "f.yaml:5: agents.demo.tools[0].url: must not have a # part"},
		"url reference":     {toolLines + "      - {name: a, type: http, url: 'http://${A'}\n", "f.yaml:5: agents.demo.tools[0].url: malformed reference"},
		"line of the key":   {toolLines + "      - name: a\n        type: http\n\n        # where\n        url: x\n", "f.yaml:9: agents.demo.tools[0].url: must be an absolute"},
		"timeout":           {toolLines + http + ", timeout: -1s}\n", "f.yaml:5: agents.demo.tools[0].timeout: must be longer than 0"},
		"recovery":          {toolLines + http + ", recovery: maybe}\n", `f.yaml:5: agents.demo.tools[0].recovery: must be one of read_only, idempotent, reconcile, unsafe, not "maybe"`},
		"recovery of mcp":   {toolLines + http + ", recovery: {a: unsafe}}\n", "f.yaml:5: agents.demo.tools[0].recovery: must be text, not a mapping"},
		"auth":              {toolLines + http + ", auth: bearer}\n", "f.yaml:5: agents.demo.tools[0].auth: must be one of delegation, not \"bearer\""},
		"auth and a header": {toolLines + http + ", auth: delegation, headers: {authorization: x}}\n", "f.yaml:5: agents.demo.tools[0].auth: the header Authorization is set as well; a call carries one of them"},
		"on unknown":        {toolLines + http + ", onUnknown: shrug}\n", "f.yaml:5: agents.demo.tools[0].onUnknown: must be one of ask, fail, tell_model"},
		"no probe":          {toolLines + http + ", recovery: reconcile}\n", "f.yaml:5: agents.demo.tools[0].probe: is required by recovery: reconcile"},
		"useless probe":     {toolLines + http + ", probe: {url: 'http://h/p'}}\n", "f.yaml:5: agents.demo.tools[0].probe: is only used with recovery: reconcile"},
		"probe url":         {toolLines + http + ", recovery: reconcile, probe: {}}\n", "f.yaml:5: agents.demo.tools[0].probe.url: is required"},
		"probe key":         {toolLines + http + ", recovery: reconcile, probe: {url: 'http://h/p', method: GET}}\n", "f.yaml:5: agents.demo.tools[0].probe.method: unknown key; known are url"},
		"header name":       {toolLines + http + ", headers: {'a b': c}}\n", `f.yaml:5: agents.demo.tools[0].headers."a b": is not a header's name`},
		"own header":        {toolLines + http + ", headers: {idempotency-key: c}}\n", "f.yaml:5: agents.demo.tools[0].headers.idempotency-key: is set by Pawl"},
		"header twice":      {toolLines + http + ", headers: {X-A: b, x-a: c}}\n", "f.yaml:5: agents.demo.tools[0].headers.x-a: is there twice"},
		"header number":     {toolLines + http + ", headers: {X-A: 1}}\n", "f.yaml:5: agents.demo.tools[0].headers.X-A: must be text, not a number; put it in quotes"},
		"header lines":      {toolLines + http + `, headers: {X-A: "a\nb"}}` + "\n", "f.yaml:5: agents.demo.tools[0].headers.X-A: must not hold line breaks"},
		"header ref":        {toolLines + http + ", headers: {X-A: 'Bearer ${my-key}'}}\n", "f.yaml:5: agents.demo.tools[0].headers.X-A: malformed reference"},
		"expiry too fine":   {toolLines + http + ", expiresAfter: 1us}\n", "f.yaml:5: agents.demo.tools[0].expiresAfter: must be whole milliseconds"},
		"approval word":     {toolLines + http + ", approval: often}\n", "f.yaml:5: agents.demo.tools[0].approval: must be one of never, always, not \"often\""},
		"approval list":     {toolLines + http + ", approval: [always]}\n", "f.yaml:5: agents.demo.tools[0].approval: must be text, not a list"},
		"approval key":      {toolLines + http + ", approval: {if: a}}\n", "f.yaml:5: agents.demo.tools[0].approval.if: unknown key; known are expiresAfter, onExpiry, when"},
		"approval syntax":   {toolLines + http + ", approval: {when: 'arguments.n >'}}\n", "f.yaml:5: agents.demo.tools[0].approval.when: the expression is not valid: line 1, column 14"},
		"approval unknown":  {toolLines + http + ", approval: {when: 'amount > 5'}}\n", "f.yaml:5: agents.demo.tools[0].approval.when: the expression is not valid: line 1, column 1: undeclared reference to 'amount'"},
		"approval type":     {toolLines + http + ", approval: {when: 'size(arguments)'}}\n", "f.yaml:5: agents.demo.tools[0].approval.when: the expression is not true or false"},
		"approval line":     {toolLines + "      - name: a\n        type: http\n        url: 'http://h/'\n        approval:\n          expiresAfter: 1h\n          when: x\n", "f.yaml:10: agents.demo.tools[0].approval.when: the expression"},
		"approval expiry":   {toolLines + http + ", approval: {onExpiry: fail}}\n", "f.yaml:5: agents.demo.tools[0].approval.onExpiry: is only used with expiresAfter"},
		"approval of human": {toolLines + "      - {name: a, type: human, approval: always}\n", "f.yaml:5: agents.demo.tools[0].approval: does not belong here: a person is asked anyway"},
		"approvals of http": {toolLines + http + ", approvals: {a: always}}\n", "f.yaml:5: agents.demo.tools[0].approvals: does not belong here: only mcp tools have it"},
		"mcp approvals":     {toolLines + "      - {name: a, type: mcp, command: [x], approvals: {b: maybe}}\n", "f.yaml:5: agents.demo.tools[0].approvals.b: must be one of never, always, not \"maybe\""},
		"mcp approves none": {toolLines + "      - {name: a, type: mcp, command: [x], allow: [c], approvals: {b: always}}\n", "f.yaml:5: agents.demo.tools[0].approvals.b: is not among the tools that allow names"},
		"sequential":        {toolLines + http + ", sequential: 1}\n", "f.yaml:5: agents.demo.tools[0].sequential: must be true or false, not a number"},
		"client url":        {toolLines + "      - {name: a, type: client, url: 'http://h'}\n", "f.yaml:5: agents.demo.tools[0].url: does not belong here: a client tool has none"},
		"client timeout":    {toolLines + "      - {name: a, type: client, timeout: 1s}\n", "f.yaml:5: agents.demo.tools[0].timeout: does not belong here: a client tool has none"},
		"human url":         {toolLines + "      - {name: a, type: human, url: 'http://h'}\n", "f.yaml:5: agents.demo.tools[0].url: does not belong here: a human tool has none"},
		"human timeout":     {toolLines + "      - {name: a, type: human, timeout: 1s}\n", "f.yaml:5: agents.demo.tools[0].timeout: does not belong here: a human tool has none"},
		"human recovery":    {toolLines + "      - {name: a, type: human, recovery: unsafe}\n", "f.yaml:5: agents.demo.tools[0].recovery: does not belong here: a human tool has none"},
		"expiry alone":      {toolLines + "      - {name: a, type: human, onExpiry: fail}\n", "f.yaml:5: agents.demo.tools[0].onExpiry: is only used with expiresAfter"},
		"no question":       {toolLines + "      - {name: a, type: human, parameters: {type: object, properties: {q: {}}}}\n", "f.yaml:5: agents.demo.tools[0].parameters: of a human tool must declare the property question"},
		"parameters text":   {toolLines + http + ", parameters: none}\n", "f.yaml:5: agents.demo.tools[0].parameters: must be a JSON Schema, a mapping, not text"},
		"parameters type":   {toolLines + http + ", parameters: {type: string}}\n", "f.yaml:5: agents.demo.tools[0].parameters: must have type: object"},
		"bad schema":        {toolLines + http + ", parameters: {type: object, required: name}}\n", "f.yaml:5: agents.demo.tools[0].parameters: is not a valid JSON Schema: "},
		"foreign ref":       {toolLines + http + ", parameters: {type: object, $ref: 'file:///etc/passwd'}}\n", "references to other documents are not supported"},
		"foreign web ref":   {toolLines + http + ", parameters: {type: object, $ref: 'http://h/s.json'}}\n", "references to other documents are not supported"},
		"retries":           {toolLines + http + ", maxRetries: -1}\n", "f.yaml:5: agents.demo.tools[0].maxRetries: must not be negative"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.text, c.want)
		})
	}
}

func TestParseSaysOnceThatThereIsNoSuchModel(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"mistral", "ollama"} {
		_, err := agent.Parse("f.yaml", []byte("agents:\n  demo:\n    model:\n      provider: "+provider+
			"\n      name: m\n      apiKey: ${KEY}\n      temperature: 1\n"+
			"    tools:\n      - {name: lookup, type: http, url: 'http://h/'}\n"))
		require.EqualError(t, err, "f.yaml:4: agents.demo.model.provider: must be one of openai, anthropic, scripted, not \""+
			provider+"\"", "nothing else can be wrong with it")
	}
}

func refused(t *testing.T, text, want string) {
	t.Helper()
	catalog, err := agent.Parse("f.yaml", []byte(text))
	require.ErrorContains(t, err, want)
	require.Nil(t, catalog)
	require.NotContains(t, err.Error(), "secret")
}
