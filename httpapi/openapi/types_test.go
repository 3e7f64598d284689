package openapi_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/httpapi"
)

// field is one that JSON has for a Go type.
type field struct {
	always bool // it is written also when it is empty
}

// fieldsOf are the fields that JSON has for a Go type.
func fieldsOf(t reflect.Type) map[string]field {
	if shaped, is := reflect.Zero(t).Interface().(interface{ JSONShape() any }); is {
		t = reflect.TypeOf(shaped.JSONShape())
	}
	fields := map[string]field{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			for inner, what := range fieldsOf(f.Type) {
				fields[inner] = what
			}
		case name != "" && name != "-":
			fields[name] = field{always: options == ""}
		}
	}
	return fields
}

// shown are the Go types of the API with the schemas that describe them; several describe one together.
func shown() []struct {
	value   any
	schemas string
	hidden  []string // never shown
	added   []string // by a stream of all executions, or by the envelope of an event
	request bool
} {
	envelope := []string{"sequence", "occurredAtMs", "type", "executionId"}
	type entry = struct {
		value   any
		schemas string
		hidden  []string
		added   []string
		request bool
	}
	answer := func(value any, schemas string) entry { return entry{value: value, schemas: schemas} }
	request := func(value any, schemas string) entry { return entry{value: value, schemas: schemas, request: true} }
	event := func(value execution.Payload, schemas string) entry {
		return entry{value: value, schemas: schemas, added: envelope}
	}
	return []entry{
		answer(execution.View{}, "View"), answer(execution.Wait{}, "Wait"), answer(execution.Suspension{}, "Suspension"),
		answer(execution.Outcome{}, "Outcome"), answer(execution.Failure{}, "Failure"), answer(execution.Usage{}, "Usage"),
		answer(execution.Origin{}, "Origin"), answer(execution.Interaction{}, "Interaction"),
		answer(execution.InteractionCall{}, "InteractionCall"), answer(execution.ListPage{}, "ListPage"),
		answer(execution.Why{}, "Why"), answer(execution.WhyNext{}, "WhyNext"), answer(execution.WhyHolder{}, "WhyHolder"),
		answer(execution.WhyQueue{}, "WhyQueue"), answer(execution.WhyFailure{}, "WhyFailure"), answer(execution.WhyNeed{}, "WhyNeed"),
		answer(execution.MessagePage{}, "MessagePage"),
		{value: execution.HistoryMessage{}, schemas: "HistoryMessage", hidden: []string{"provider"}},
		{value: execution.ToolCall{}, schemas: "MessageToolCall", hidden: []string{"providerId"}},
		answer(execution.ToolResult{}, "MessageToolResult"), answer(execution.Part{}, "MessagePart"),
		answer(execution.BlobRef{}, "BlobRef"), answer(execution.CheckpointPage{}, "CheckpointPage"),
		answer(execution.Checkpoint{}, "Checkpoint"), answer(execution.AgentSummary{}, "AgentSummary"),
		answer(execution.Capabilities{}, "Capabilities"), answer(execution.StreamToken{}, "StreamToken"),
		answer(execution.ToolCallPage{}, "ToolCallPage"), answer(execution.LedgerEntry{}, "LedgerEntry"),
		answer(execution.EventPage{}, "EventPage"), answer(execution.BulkResult{}, "BulkResult"),
		answer(execution.BulkFailure{}, "BulkFailure"),
		{value: execution.Frame{}, schemas: "Frame", added: []string{"executionId"}},
		{value: httpapi.Readiness{}, schemas: "Readiness", added: []string{"status", "version"}},

		request(execution.CreateRequest{}, "CreateRequest"), request(execution.Generation{}, "Generation"),
		request(execution.FrontendTool{}, "FrontendTool"), request(execution.Limits{}, "Limits"),
		request(execution.Input{}, "TextMessage PartsMessage ElicitationText ElicitationContent ElicitationDeclined ToolApproval ToolResult"),
		request(execution.Part{}, "TextPart ImageURLPart ImagePart"), request(execution.Decision{}, "Approve Reject Edit Answer"),
		request(execution.SubmitInput{}, "SubmitInput"), request(execution.ResumeRequest{}, "ResumeRequest"),
		request(execution.ForkRequest{}, "ForkRequest"), request(execution.BulkRequest{}, "BulkRequest"),
		request(execution.BulkFilter{}, "BulkFilter"),

		event(execution.ExecutionQueued{}, "ExecutionQueuedEvent"), event(execution.ExecutionStarted{}, "ExecutionStartedEvent"),
		event(execution.ModelStarted{}, "ModelStartedEvent"), event(execution.ModelCompleted{}, "ModelCompletedEvent"),
		event(execution.ToolStarted{}, "ToolStartedEvent"), event(execution.ToolCompleted{}, "ToolCompletedEvent"),
		event(execution.InteractionRequired{}, "InteractionRequiredEvent"),
		event(execution.InteractionReceived{}, "InteractionReceivedEvent"), event(execution.Warning{}, "WarningEvent"),
		event(execution.ExecutionSuspended{}, "ExecutionSuspendedEvent"), event(execution.ExecutionResumed{}, "ExecutionResumedEvent"),
		event(execution.CancelRequested{}, "CancelRequestedEvent"), event(execution.RetryScheduled{}, "RetryScheduledEvent"),
		event(execution.ExecutionCompleted{}, "ExecutionCompletedEvent"), event(execution.ExecutionFailed{}, "ExecutionFailedEvent"),
		event(execution.ExecutionCanceled{}, "ExecutionCanceledEvent"), event(execution.UnreadableEvent{}, "UnreadableEvent"),
	}
}

func TestSchemasHaveTheFieldsOfTheGoTypes(t *testing.T) {
	t.Parallel()
	_, document := load(t)
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	for _, s := range shown() {
		described, required := map[string]bool{}, map[string]bool{}
		for name := range strings.SplitSeq(s.schemas, " ") {
			require.Contains(t, schemas, name)
			schema := schemas[name].(map[string]any)
			for property := range schema["properties"].(map[string]any) {
				described[property] = true
			}
			list, _ := schema["required"].([]any)
			for _, property := range list {
				required[property.(string)] = true
			}
		}
		for _, name := range s.added {
			require.True(t, described[name], "%s.%s", s.schemas, name)
			delete(described, name)
		}
		for name, f := range fieldsOf(reflect.TypeOf(s.value)) {
			if slices.Contains(s.hidden, name) {
				continue
			}
			require.True(t, described[name], "%s.%s is not described", s.schemas, name)
			delete(described, name)
			if !s.request || strings.HasSuffix(s.schemas, "Request") {
				require.Equal(t, f.always, required[name], "%s.%s: always there?", s.schemas, name)
			}
		}
		require.Empty(t, described, "%s describes what is not there", s.schemas)
	}
}

// constants are those of package execution by their types.
func constants(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	files, err := filepath.Glob("../../execution/*.go")
	require.NoError(t, err)
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		file, err := parser.ParseFile(token.NewFileSet(), name, text, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(node ast.Node) bool {
			spec, is := node.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 {
				return true
			}
			kind, typed := spec.Type.(*ast.Ident)
			literal, is := spec.Values[0].(*ast.BasicLit)
			if typed && is && literal.Kind == token.STRING {
				value, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				found[kind.Name] = append(found[kind.Name], value)
			}
			return true
		})
	}
	return found
}

func TestWordsAreThoseOfTheGoTypes(t *testing.T) {
	t.Parallel()
	_, document := load(t)
	words := constants(t)
	at := func(path string) any {
		value := document["components"].(map[string]any)["schemas"]
		for key := range strings.SplitSeq(path, ".") {
			value = value.(map[string]any)[key]
		}
		return value
	}
	for kind, path := range map[string]string{
		"ErrorCode": "ErrorCode.enum", "State": "State.enum", "SuspendReason": "SuspendReason.enum", "InteractionKind": "InteractionKind.enum",
		"OnBusy": "OnBusy.enum", "WaitKind": "Wait.properties.kind.enum", "WaitingFor": "Why.properties.waitingFor.enum",
		"OnExpiry": "Interaction.properties.onExpiry.enum", "Priority": "CreateRequest.properties.priority.enum",
		"FrameType": "Frame.properties.type.enum", "Role": "HistoryMessage.properties.role.enum",
		"ToolErrorKind": "MessageToolResult.properties.errorKind.enum", "PartType": "MessagePart.properties.type.enum",
		"BulkAction": "BulkRequest.properties.action.enum", "CallState": "LedgerEntry.properties.state.enum",
		"Recovery": "LedgerEntry.properties.recovery.enum",
	} {
		var described []string
		for _, word := range at(path).([]any) {
			described = append(described, word.(string))
		}
		require.ElementsMatch(t, words[kind], described, kind)
	}
	var types []string
	for _, choice := range at("Event.oneOf").([]any) {
		reference := choice.(map[string]any)["$ref"].(string)
		name := reference[strings.LastIndex(reference, "/")+1:]
		types = append(types, at(name+".properties.type.const").(string))
	}
	require.ElementsMatch(t, words["EventType"], types)
	for kind, names := range map[string]string{
		"DecisionKind": "Approve.decision Reject.decision Edit.decision Answer.decision",
		"InputType":    "TextMessage.type ElicitationText.type ToolApproval.type ToolResult.type",
	} {
		var described []string
		for name := range strings.SplitSeq(names, " ") {
			schema, property, _ := strings.Cut(name, ".")
			described = append(described, at(schema+".properties."+property+".const").(string))
		}
		require.ElementsMatch(t, words[kind], described, kind)
	}
}
