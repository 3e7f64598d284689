package execution

// ListQuery says which executions are listed. The zero value lists all that the caller may see.
type ListQuery struct {
	State          State             // empty: every state
	Agent          string            // empty: every agent
	ConversationID ConversationID    // empty: every conversation
	Metadata       map[string]string // pairs that the execution's metadata holds
	UpdatedSinceMs int64             // changed at this instant or later
	Limit          int               // of executions in the page; 0: 100
	Cursor         string            // NextCursor of the page before; empty: the first page
}

// ListPage is a page of a listing, newest first. NextCursor is empty on the last page. A page before it may hold fewer
// executions than were asked for, or none: few executions passed the filters where it looked.
type ListPage struct {
	Executions []View `json:"executions"`
	NextCursor string `json:"nextCursor,omitempty"`
}
