package linktest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Run drives the suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	clauses := []struct {
		name string
		test func(t *testing.T, h Harness)
	}{
		{"create writes a queued execution", createWrites},
		{"case A1: what was accepted is written before the answer", acceptedIsWritten},
		{"create refuses what is malformed and writes nothing", createRefuses},
		{"what a submission says in place of its agent is on the row, and part of what a key stands for", createOverrides},
		{"overrides that say nothing are none", createWithoutOverrides},
		{"create refuses overrides by their field and writes nothing", createRefusesOverrides},
		{"create names the agents there are", createNamesAgents},
		{"a remote agent is listed with what its backend can do", remoteAgentsAreListed},
		{"a remote agent takes no overrides, and of the limits the deadline", remoteAgentsRefuse},
		{"an execution keeps the definitions of all agents that it may come to call, and so does its fork", createKeepsRoster},
		{"a message in parts keeps its images out of the row", createParts},
		{"create refuses parts by their field and writes nothing", createRefusesParts},
		{"the same key and request give the first execution", keyReplays},
		{"the same key and another request conflict", keyReused},
		{"another caller's equal key is another key", keysAreScoped},
		{"fifty submissions with one key make one execution", keyUnderLoad},
		{"a busy conversation refuses or lets wait", busyConversation},
		{"an interrupt and a rollback take the turn, and a rollback the history too", busyInterrupt},
		{"what two tenants call alike are two conversations, and neither tells of the other", chosenAlike},
		{"an id that Pawl minted opens nothing, and another tenant's is refused as nobody's", mintedContinues},
		{"subjects of a tenant share its conversations", conversationShared},
		{"a caller of all tenants finds every tenant's conversation of an id", conversationsOfAll},
		{"a fork goes on from a step, and says where it comes from", forkGoesOn},
		{"a fork says something, and changes what it runs with", forkSays},
		{"a fork is repeated with its key, whatever has become of what it comes from", forkReplays},
		{"a fork's key says that the fork was deleted, also when both are", forkKeyGone},
		{"a fork refuses what cannot be forked and writes nothing", forkRefusals},
		{"who may submit forks what it sees, and owns the fork", forkRoles},
		{"another tenant's execution is not found", hiddenFromTenants},
		{"a role bounds what a caller sees and steers", rolesBound},
		{"a caller of all tenants sees and steers every execution and submits none", onCallSees},
		{"cursors and places in a log belong to their caller", placesBelong},
		{"a malformed id is invalid and an unknown one not found", unknownIDs},
		{"events come in pages", eventPages},
		{"case G2: a page of events ends by its bytes too", eventPagesByBytes},
		{"events refuse a bad limit and a cursor beyond the log", eventRefusals},
		{"wait returns when the state changes", waitForState},
		{"wait returns when the version changes", waitForVersion},
		{"wait returns at once for an ended execution, and after its time", waitEnds},
		{"follow gives every event once, old and new, up to the terminal one", followAll},
		{"case F3: follow goes on from any cursor", followFromCursors},
		{"follow carries frames", followFrames},
		{"follow keeps its place when a call's context ends", followKeepsPlace},
		{"follow at the end of an ended log ends at once", followNothingLeft},
		{"follow refuses unknown executions and cursors beyond the log", followRefusals},
		{"streams of one execution are each whole, wherever they begin", followTogether},
		{"a stream that opens in mid-answer begins with the text so far", followInMidAnswer},
		{"a stream that nobody was there before gets the whole answer when its sender repeats it, and others nothing twice", followRepeatedText},
		{"whoever comes back in mid-answer gets the text so far", followAgainInMidAnswer},
		{"the text so far comes behind the log", followInMidAnswerFromTheStart},
		{"the text of an answer that is over is not told", followAfterAnswer},
		{"an answer that is begun anew replaces the text so far", followRepeatedAnswer},
		{"case F8: of a long answer the end is kept, and says where it begins", followLongAnswer},
		{"follow all tells from now on of what the caller may see", followAllOfTheCaller},
		{"follow all carries frames, and whose they are", followAllFrames},
		{"follow all refuses a caller without a role", followAllRefusals},
		{"case D5: closing a stream leaves the execution alone", closeLeavesAlone},
		{"an answer is taken once and repeated safely", inputReplays},
		{"case A23: an answer is repeated safely even after the end", inputReplaysAfterEnd},
		{"case K2: the second answer to a question conflicts and names the first", inputConflicts},
		{"case K2: of many answers at once one is taken", inputRace},
		{"an approval decides each of its calls", inputDecides},
		{"case K2: an approval takes decisions about some of its calls, edits and hashes, once", inputEdits},
		{"a call whose outcome is unknown is not edited", inputEditsUnknown},
		{"an answer by form is held against the question's schema", inputByForm},
		{"case K2: results come one by one, each once, whatever their question is called by now", inputResults},
		{"results that come all at once are all taken", inputResultsAtOnce},
		{"a tool that says late what became of a call is believed", inputResolvesUnknown},
		{"input refuses what does not answer the question", inputRefusals},
		{"input to an ended execution says so", inputEnded},
		{"cancel ends what nobody holds", cancelQueued},
		{"cancel asks the holder", cancelRunning},
		{"cancel of an ended execution changes nothing", cancelEnded},
		{"pause suspends what nobody holds, and resume takes it back", pauseAtRest},
		{"pause asks the holder", pauseRunning},
		{"what is paused takes no answer before it is resumed", pausedWaitsForResume},
		{"pause and resume refuse what has ended or is ending", pauseRefusals},
		{"resume refuses a reason that is too long", resumeRefusals},
		{"a resume changes limits field by field, and the deadline with them", resumeLimits},
		{"a resume refuses limits as a submission does", resumeLimitRefusals},
		{"a child is resumed with no more of the shared limits than its parent has left", resumeShare},
		{"what was spent in earlier turns counts once, and a child of a child is bound by its own parent", resumeShareOfLaterTurns},
		{"release takes the claim from a holder, whose writes are refused from then on", releaseRunning},
		{"release of what nobody holds changes nothing", releaseNothing},
		{"only an operator of the tenant releases", releaseRoles},
		{"cases A7, D2: cancel, pause, release and delete need no holder that answers", forceVerbs},
		{"what was deleted is not found, and its key answers that it is gone", deleteEnded},
		{"delete refuses what has not ended", deleteOpen},
		{"delete waits for the clean-up of a delegation", deleteCleanup},
		{"a role bounds what a caller deletes", deleteRoles},
		{"a bulk cancel does what its dry run said", bulkCancels},
		{"a bulk resume means what is suspended", bulkResumes},
		{"a bulk call goes on where the one before ended", bulkPages},
		{"a bulk call and its cursor belong to their caller, action and filter", bulkScope},
		{"bulk refuses by field, and writes nothing", bulkRefusals},
		{"a bulk call under churn tells of each execution once", bulkUnderChurn},
		{"a stored result is read byte for byte, also after the end", blobs},
		{"a stored result is its tenant's, and a bad hash is refused", blobRefusals},
		{"the history comes in pages, without what only a provider may see", messagePages},
		{"the history of an execution ends with it, and begins with its conversation", messagesOfConversation},
		{"case E2: the history of an execution that ended with open calls has their answers", messagesOfOpenCalls},
		{"case G2: a page of the history ends by its bytes too", messagePagesByBytes},
		{"checkpoints come in pages, with their evidence", checkpointPages},
		{"a checkpoint of another release hides no other one", checkpointOfAnotherRelease},
		{"the history refuses a bad limit and a bad place", historyRefusals},
		{"tool calls are shown as the ledger has them", toolCallStates},
		{"of a tool call that an open question asks about, its outcome is unknown", toolCallsOfUnknownOutcome},
		{"tool calls come in pages", toolCallPages},
		{"a page of tool calls reads a part of the log, however far apart they are", toolCallsFarApart},
		{"case G2: a page of tool calls ends by its bytes too", toolCallPagesByBytes},
		{"a ledger entry of another release hides no other one", toolCallsOfAnotherRelease},
		{"tool calls name the children that they started", toolCallsThatStartChildren},
		{"tool calls refuse a bad limit and a cursor beyond the log", toolCallRefusals},
		{"why says what an execution waits for, from its start to its end", whyFromStartToEnd},
		{"the view shows parent and children, a listing the parent", viewTree},
		{"a cancel reaches the children", cancelTree},
		{"why names the open children and says what the first one waits for", whyTree},
		{"why says what people have to do for an execution and for those below it", whyNeeds},
		{"why says that a clean-up is open", whyCleanup},
		{"why says how the last attempt failed, and when the next one comes", whyRetry},
		{"why says which question is open, and when it expires", whyInput},
		{"why says who comes before in the conversation", whyTurn},
		{"why says what was asked of a holder, and of a suspended execution what to do", whySteered},
		{"agents are listed", listAgents},
		{"executions are listed in pages, newest first", listPages},
		{"a listing takes filters", listFilters},
		{"a listing shows what the caller may see", listScope},
		{"a listing refuses what is malformed, and another caller's cursor", listRefusals},
	}
	for _, clause := range clauses {
		t.Run(clause.name, func(t *testing.T) {
			t.Parallel()
			clause.test(t, open(t))
		})
	}
}

// unchanged asserts that f writes nothing.
func unchanged(t *testing.T, h Harness, f func()) {
	t.Helper()
	before := h.Dump()
	f()
	require.Equal(t, before, h.Dump())
}
