package dashboard

import (
	"net/http"

	"github.com/pawl-run/pawl/execution"
)

// inConversations is how many executions a page of conversations groups.
const inConversations = 100

// conversationsBody is the body of the list of conversations.
type conversationsBody struct {
	Rows  []conversationRow
	Of    int    // how many executions they are of
	Next  string // the address of the next page
	Later bool   // this is not the first page
}

// conversationRow is a conversation by those of its executions that the page has come by.
type conversationRow struct {
	ID     execution.ConversationID
	Count  int
	Newest execution.View
	Open   int // how many have not ended
}

// conversations lists the conversations of the newest executions. There is no index of conversations: the page groups what
// the list of executions gives, at its cost.
func (p *Pages) conversations(w http.ResponseWriter, r *http.Request) error {
	asked := r.URL.Query().Get("cursor")
	list, err := p.link(r).List(r.Context(), execution.ListQuery{Limit: inConversations, Cursor: asked})
	if err != nil {
		return err
	}
	body := conversationsBody{Rows: grouped(list.Executions), Of: len(list.Executions), Later: asked != ""}
	if list.NextCursor != "" {
		body.Next = root + "/conversations?" + values("cursor", list.NextCursor).Encode()
	}
	page := p.page(r, "Conversations", "conversations")
	page.Body = body
	if !body.Later {
		page.Live = everything()
	}
	p.show(w, r, http.StatusOK, "conversations", page)
	return nil
}

// grouped groups executions, the newest first, by conversation, in the order of each one's newest.
func grouped(executions []execution.View) []conversationRow {
	var rows []conversationRow
	index := map[execution.ConversationID]int{}
	for _, view := range executions {
		i, known := index[view.ConversationID]
		if !known {
			i = len(rows)
			index[view.ConversationID] = i
			rows = append(rows, conversationRow{ID: view.ConversationID, Newest: view})
		}
		rows[i].Count++
		if !view.State.Terminal() {
			rows[i].Open++
		}
	}
	return rows
}
