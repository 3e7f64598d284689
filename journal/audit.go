package journal

import (
	"context"

	"github.com/pawl-run/pawl/execution"
)

// Auditor is the role of whoever looks through everything that is stored, by hand: each row and each entry of an index is
// held against what must be true of it. It goes through all keys, a few at a time, while everybody works; what changes
// meanwhile is judged as it is when it is looked at, in one step.
type Auditor interface {
	// Audit reports what is not as it should be. With repair, what can be mended without judgment is: entries of indexes are
	// put where they belong, and no row is changed. Repeating it is safe.
	Audit(ctx context.Context, repair bool, report func(Finding)) (Census, error)
}

// FindingCode says what is wrong.
type FindingCode string

// What can be wrong.
const (
	FindingUnreadable       FindingCode = "unreadable"        // a row, a receipt or an event that this release cannot read
	FindingNewer            FindingCode = "newer"             // a record of a later release: its programs go on with it
	FindingNotIndexed       FindingCode = "not_indexed"       // a row that nobody would ever look at again
	FindingIndexedTwice     FindingCode = "indexed_twice"     // a row in an index where it does not belong
	FindingStandstill       FindingCode = "standstill"        // a row that could go on and that nobody will call
	FindingNotListed        FindingCode = "not_listed"        // a row that a listing leaves out
	FindingListedElsewhere  FindingCode = "listed_elsewhere"  // a row in the listing of another state
	FindingEntryWithoutRow  FindingCode = "entry_without_row" // an entry of something that is not there
	FindingConversationLost FindingCode = "conversation_lost" // an active row of which its conversation does not know
	FindingConversationHeld FindingCode = "conversation_held" // a conversation that waits for a row which is not active
	FindingNotInLine        FindingCode = "not_in_line"       // a row that waits for a turn and stands in no line
	FindingNotCleaned       FindingCode = "not_cleaned"       // a row that has ended and after which nobody would clean up
	FindingNothingToClean   FindingCode = "nothing_to_clean"  // an entry of a clean-up that is not to be done
	FindingChildLost        FindingCode = "child_lost"        // an open child of which its parent does not know
	FindingChildEnded       FindingCode = "child_ended"       // an entry of an open child that has ended
	FindingChildLeft        FindingCode = "child_left"        // an open child whose parent has ended without asking it to
	FindingResultMissing    FindingCode = "result_missing"    // a stored result that is not there, or not whole, of an open execution
)

// Finding is something that is not as it should be.
type Finding struct {
	Code   FindingCode `json:"code"`
	Key    string      `json:"key"` // where it was found
	Detail string      `json:"detail"`
	Mended bool        `json:"mended"`
}

// Census is what an audit has counted.
type Census struct {
	Rows    map[execution.State]int64 `json:"rows"`
	Entries int64                     `json:"entries"` // of all indexes
	// Open is how many executions have not ended, as it is counted elsewhere: from the indexes.
	Open int64 `json:"open"`
}
