package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/execution"
)

func TestSubmit_SendsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Queued})
	got := typeCommand(t, fake, false, nil, "submit", "--key", "k", "--priority", "high", "--conversation", "mine", "--on-busy", "rollback",
		"--retention", "2h",
		"--metadata", "a=1", "--metadata", "b=x=y", "demo", "Oslo,", "please")
	require.Equal(t, result{out: string(anID) + "\n"}, got)
	require.Equal(t, []string{"k"}, fake.keys)
	require.Equal(t, execution.CreateRequest{
		Agent: "demo", Input: execution.Input{Type: execution.UserMessage, Text: "Oslo, please"}, ConversationID: "mine",
		Priority: execution.High, Metadata: map[string]string{"a": "1", "b": "x=y"}, OnBusy: execution.BusyRollback,
		RetentionMs: 7_200_000,
	}, fake.created[0])
}

func TestSubmit_SaysWhatHoldsInPlaceOfTheAgent(t *testing.T) {
	t.Parallel()
	schema := filepath.Join(t.TempDir(), "answer.json")
	require.NoError(t, os.WriteFile(schema, []byte(`{"type": "object"}`+"\n"), 0o600))
	fake := newFake(execution.View{State: execution.Queued})
	got := typeCommand(t, fake, false, nil, "submit", "--model", "small", "--instructions", "Be brief.", "--output-schema", schema,
		"--limits", "maxModelRequests=5,deadline=10m", "--limits", "maxCost=0.50,onExceeded=suspend", "demo", "x")
	require.Zero(t, got.code, got.err)
	request := fake.created[0]
	require.Equal(t, execution.Overrides{
		Model: "small", Instructions: "Be brief.", OutputSchema: json.RawMessage(`{"type": "object"}`),
	}, request.Overrides)
	require.Equal(t, &execution.Limits{
		MaxModelRequests: 5, Deadline: 10 * time.Minute, MaxCost: 500_000, SuspendOnExceeded: true,
	}, request.Limits)
}

func TestSubmit_WatchFollowsAndJSONPrintsTheView(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	fake.send(&execution.ExecutionQueued{}, &execution.ExecutionFailed{Code: "internal"})
	fake.end()
	got := typeCommand(t, fake, false, nil, "submit", "--watch", "demo", "x")
	require.Equal(t, exitFailed, got.code)
	require.Contains(t, got.out, "execution_failed")

	got = typeCommand(t, fake, true, nil, "submit", "--json", "demo", "x")
	var view execution.View
	require.NoError(t, json.Unmarshal([]byte(got.out), &view))
	require.Equal(t, anID, view.ID)
	require.Empty(t, got.err)
	require.Contains(t, typeCommand(t, fake, true, nil, "submit", "demo", "x").err, "pawl watch "+string(anID))
}

func TestUsage_MistakesExitWith2AndSayWhatToDo(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"nonsense":                               "unknown command",
		"sumbit demo x":                          "Did you mean this?\n\tsubmit",
		"submit":                                 "Usage: pawl submit [flags] AGENT TEXT…\nTry: pawl submit -h",
		"submit demo":                            "requires at least 2 arg",
		"submit --nope demo x":                   "unknown flag: --nope",
		"submit --priority top demo x":           "--priority: want high, normal or low",
		"submit --metadata a demo x":             "--metadata: want NAME=VALUE",
		"submit --conversation ? a x":            "--conversation: malformed id",
		"submit --limits a demo x":               "--limits: want NAME=VALUE",
		"submit --limits a=1 demo x":             `--limits: there is no limit "a"; there are maxTurns, maxModelRequests,`,
		"submit --limits onExceeded=fail a x":    `--limits: onExceeded: want suspend, have "fail"`,
		"submit --deadline x a x":                `--deadline: want a duration such as 10m, have "x"`,
		"submit --retention 1ms a x":             "--retention: want a duration from 1s to 87600h, have 1ms",
		"list --state done":                      "--state: want one of queued, running,",
		"list --conversation ?":                  "--conversation: malformed id",
		"bulk cancel --state done --yes":         "--state: want one of queued, running,",
		"events --types bogus":                   "--types: want some of execution_queued,",
		"input --result null " + string(anID):    "--result: must not be null",
		"input --answer null " + string(anID):    "--answer: must not be null",
		"submit --limits maxTurns=0 a x":         "--limits: maxTurns: want a number above 0",
		"submit --limits deadline=5 a x":         "--limits: deadline: want a duration",
		"submit --limits maxCost=-1 a x":         "--limits: maxCost: want an amount",
		"submit --output-schema /nowhere a x":    "--output-schema: open /nowhere",
		"watch":                                  "accepts 1 arg",
		"list x":                                 "unknown command",
		"list --limit 0":                         "--limit: want a number above 0",
		"list --metadata a":                      "--metadata: want NAME=VALUE",
		"list --updated-since yesterday":         "--updated-since: want a duration",
		"watch 7":                                `"7" is no execution id`,
		"cancel 7":                               `"7" is no execution id`,
		"pause 7":                                `"7" is no execution id`,
		"resume":                                 "accepts 1 arg",
		"resume --limits 1 " + string(anID):      "--limits: want NAME=VALUE",
		"resume --max-turns x " + string(anID):   "--max-turns: want a number above 0, have \"x\"",
		"submit --retention -1h a x":             "--retention: want a duration from 1s to 87600h, have -1h0m0s",
		"submit --on-busy wait a x":              "--on-busy: want reject, enqueue, interrupt or rollback",
		"why":                                    "accepts 1 arg",
		"fork --step 1":                          "requires at least 1 arg",
		"fork " + string(anID):                   "--step: name the step",
		"fork --step x ID":                       "invalid argument",
		"delete":                                 "requires at least 1 arg",
		"delete 7":                               `"7" is no execution id`,
		"delete " + string(anID):                 "repeat it with --yes",
		"bulk drop":                              "unknown command",
		"bulk cancel":                            "say which executions are meant",
		"bulk cancel --state failed":             "repeat it with --yes",
		"bulk resume --limit -1 --agent a":       "--limit: want a number",
		"bulk resume --metadata a":               "--metadata: want NAME=VALUE",
		"messages --from -1 " + string(anID):     "--from: want a number",
		"events --since yesterday":               "--since: want a duration",
		"events x":                               "unknown command",
		"checkpoints --limit -1 " + string(anID): "--limit: want a number",
		"input " + string(anID):                  "exactly one of TEXT, --field, --content, --decline, --approve,",
		"input ID x":                             "is no execution id",
		"input ID --approve --reject":            "is no execution id",
		"version now":                            "unknown command",
		"dev now":                                "unknown command",
		"input --reason r --approve ID":          "is no execution id",
	} {
		got := typeCommand(t, newFake(execution.View{}), false, nil, strings.Fields(line)...)
		require.Equal(t, exitUsage, got.code, line)
		require.Contains(t, got.err, want, line)
		require.Empty(t, got.out, line)
	}
}

func TestErrors_SayWhatToDo(t *testing.T) {
	t.Parallel()
	unreachable := execution.NewAPIError(execution.Unavailable, "dial").Because(errors.New("connection refused"))
	for want, err := range map[string]error{
		"start it with `pawl dev`":            unreachable,
		"pawl: the store did not answer\n":    execution.NewAPIError(execution.Unavailable, "the store did not answer"),
		"pawl: agent: known are: demo\n":      execution.NewAPIError(execution.UnknownAgent, "known are: demo").In("agent"),
		"pawl: input.text is required\n":      execution.NewAPIError(execution.InvalidRequest, "input.text is required").In("input.text"),
		"pawl: the execution is completed\n":  execution.NewAPIError(execution.ExecutionEnded, "the execution is completed").In("id"),
		"pawl: runtime internal failure\n":    execution.NewAPIError(execution.Internal, ""),
		"does PAWL_URL name an API?":          execution.NewAPIError(execution.Internal, "what x answers is not of Pawl's API").Because(errors.New("<")),
		"set PAWL_API_KEY":                    execution.NewAPIError(execution.Unauthenticated, "who"),
		"the role of the key in PAWL_API_KEY": execution.NewAPIError(execution.Forbidden, "needs role operate"),
		"pawl: too many: try again in 7s\n":   execution.NewAPIError(execution.Overloaded, "too many").After(7 * time.Second),
		"pawl: too many: try again later\n":   execution.NewAPIError(execution.Overloaded, "too many"),
		"with --on-busy":                      execution.NewAPIError(execution.ConversationBusy, "busy").In("conversationId"),
		"needs another --key":                 execution.NewAPIError(execution.Gone, "deleted").In("Idempotency-Key"),
		"pawl: gone: was the id copied whole, and is http://127.0.0.1:8080 the right": execution.NewAPIError(execution.NotFound, "gone"),
	} {
		fake := newFake(execution.View{})
		fake.err, fake.followErr = err, err
		for _, line := range []string{
			"submit demo x", "list", "show ID", "watch ID", "why ID", "cancel ID", "pause ID", "resume ID", "release ID", "fork --step 3 ID",
			"bulk cancel --agent demo --yes", "messages ID", "checkpoints ID", "calls ID", "blob ID hash", "agents list", "stream-token ID",
		} {
			got := typeCommand(t, fake, false, nil, strings.Fields(strings.ReplaceAll(line, "ID", string(anID)))...)
			require.Equal(t, exitNoAnswer, got.code, line)
			require.Contains(t, got.err, want, line)
		}
	}
}

func TestInput_AnswersWhatIsAsked(t *testing.T) {
	t.Parallel()
	id := string(anID)
	for name, tc := range map[string]struct {
		kind execution.InteractionKind
		args []string
		want execution.Input
	}{
		"a text": {execution.Elicitation, []string{"input", id, "yes", "please"}, execution.Input{
			Type: execution.ElicitationResponse, RequestID: "req-1", Text: "yes please",
		}},
		"an approval of all calls": {execution.Approval, []string{"input", id, "--approve"}, execution.Input{
			Type: execution.ToolApproval, RequestID: "req-1", Decisions: []execution.Decision{
				{CallID: "call_0_1", Decision: execution.Approve}, {CallID: "call_0_2", Decision: execution.Approve},
			},
		}},
		"a rejection of one call": {
			execution.Approval,
			[]string{"input", id, "--reject", "--reason", "dear", "--call", "call_0_2"},
			execution.Input{Type: execution.ToolApproval, RequestID: "req-1", Decisions: []execution.Decision{
				{CallID: "call_0_2", Decision: execution.Reject, Reason: "dear"},
			}},
		},
		"an answer in place of the call": {
			execution.Approval,
			[]string{"input", id, "--answer", "fine", "--call", "call_0_1", "--request", "req-9"},
			execution.Input{Type: execution.ToolApproval, RequestID: "req-9", Decisions: []execution.Decision{
				{CallID: "call_0_1", Decision: execution.Answer, Answer: json.RawMessage(`"fine"`)},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := newFake(question(tc.kind))
			got := typeCommand(t, fake, false, nil, tc.args...)
			require.Equal(t, result{out: id + " is running\n"}, got)
			require.Equal(t, tc.want, fake.inputs[0].Input)
		})
	}
}

func TestInput_RefusesWhatDoesNotFitTheQuestion(t *testing.T) {
	t.Parallel()
	id := string(anID)
	got := typeCommand(t, newFake(execution.View{State: execution.Running}), false, nil, "input", id, "yes")
	require.Equal(t, exitNoAnswer, got.code)
	require.Contains(t, got.err, "does not wait for a person: it is running")
	got = typeCommand(t, newFake(question(execution.Approval)), false, nil, "input", id, "yes")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.err, "use --approve")
	got = typeCommand(t, newFake(question(execution.Elicitation)), false, nil, "input", id, "--approve")
	require.Equal(t, exitUsage, got.code)
}

func TestInput_ARepeatedOperationIsSentEvenWhenTheQuestionIsClosed(t *testing.T) {
	t.Parallel()
	fake := newFake(execution.View{State: execution.Completed})
	got := typeCommand(t, fake, false, nil, "input", string(anID), "--request", "req-1", "--operation", "op", "yes")
	require.Equal(t, 0, got.code, got.err)
	require.Equal(t, execution.OperationID("op"), fake.inputs[0].OperationID)
}

func TestCancel_SaysWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	for want, steered := range map[string]execution.Steered{
		" is canceled\n":                     {Changed: true, View: execution.View{State: execution.Canceled}},
		": cancel requested\n":               {Changed: true, View: execution.View{State: execution.Running}},
		" is completed: nothing to cancel\n": {View: execution.View{State: execution.Completed}},
	} {
		fake := newFake(execution.View{})
		fake.steered = steered
		require.Equal(t, string(anID)+want, typeCommand(t, fake, false, nil, "cancel", string(anID)).out)
	}
}

func TestPauseAndResume_SayWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		command, want string
		steered       execution.Steered
	}{
		{"pause", " is suspended\n", execution.Steered{Changed: true, View: execution.View{State: execution.Suspended}}},
		{"pause", ": pause requested\n", execution.Steered{Changed: true, View: execution.View{State: execution.Running}}},
		{"pause", " is suspended: nothing to pause\n", execution.Steered{View: execution.View{State: execution.Suspended}}},
		{"resume", " is running\n", execution.Steered{Changed: true, View: execution.View{State: execution.Running}}},
		{"resume", " is queued: nothing to resume\n", execution.Steered{View: execution.View{State: execution.Queued}}},
	} {
		fake := newFake(execution.View{})
		fake.steered = c.steered
		require.Equal(t, string(anID)+c.want, typeCommand(t, fake, false, nil, c.command, string(anID)).out)
	}
	fake := newFake(execution.View{})
	typeCommand(t, fake, false, nil, "resume", "--reason", "the tool is back", string(anID))
	require.Equal(t, execution.ResumeRequest{Reason: "the tool is back"}, fake.resumed)
	typeCommand(t, fake, false, nil, "resume", "--max-cost", "2", "--deadline", "48h", "--limits", "maxTurns=9", string(anID))
	require.Equal(t, execution.ResumeRequest{Limits: &execution.Limits{
		MaxCost: 2_000_000, Deadline: 48 * time.Hour, MaxTurns: 9,
	}}, fake.resumed)
}

func TestHelp_NamesTheNextStepAndEveryVariable(t *testing.T) {
	t.Parallel()
	got := typeCommand(t, newFake(execution.View{}), false, nil, "-h")
	require.Contains(t, got.out, `pawl submit --watch demo`)
	require.Contains(t, got.out, "PAWL_URL")
	got = typeCommand(t, newFake(execution.View{}), false, nil, "input", "-h")
	require.Contains(t, got.out, "--request REQUEST")
	got = typeCommand(t, newFake(execution.View{}), false, nil, "dev", "-h")
	for _, name := range []string{"PAWL_REDIS_URL", "PAWL_DATA_DIR", "PAWL_AGENTS", "PAWL_CLAIM_TTL"} {
		require.Contains(t, got.out, name)
	}
	said := typeCommand(t, newFake(execution.View{}), false, nil, "version").out
	require.Contains(t, said, "pawl ")
	require.Equal(t, said, typeCommand(t, newFake(execution.View{}), false, nil, "--version").out)
}

func TestBlobPrintsATextAsItIs(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]string{`"a\nb"`: "a\nb", `{"a": 1}`: `{"a": 1}`} {
		fake := newFake(execution.View{})
		fake.blob = []byte(stored)
		got := typeCommand(t, fake, false, nil, "blob", string(anID), strings.Repeat("a", 64))
		require.Equal(t, result{out: want}, got)
		got = typeCommand(t, fake, false, nil, "blob", "--json", string(anID), strings.Repeat("a", 64))
		require.Equal(t, result{out: stored}, got)
	}
}
