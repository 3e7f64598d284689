package dashboard

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/pawl-run/pawl/execution"
)

// inList is how many executions a page of the list holds.
const inList = 50

// listBody is the body of the list.
type listBody struct {
	Filter     listFilter
	Executions []execution.View
	Next       string // the address of the next page
	Later      bool   // this is not the first page
	Agents     []execution.AgentSummary
	Since      []since
}

// listFilter is the form above the list, as it was sent.
type listFilter struct {
	State, Agent, Conversation, Metadata, Since string
	Any                                         bool // something is asked for
}

// since is a choice of how lately an execution changed.
type since struct{ Value, Label string }

func sinces() []since {
	return []since{{"", "at any time"}, {"5m", "in 5 minutes"}, {"1h", "in an hour"}, {"24h", "in a day"}, {"168h", "in a week"}}
}

// executions lists executions.
func (p *Pages) executions(w http.ResponseWriter, r *http.Request) error {
	asked := r.URL.Query()
	body := listBody{Later: asked.Get("cursor") != "", Since: sinces(), Filter: listFilter{
		State: asked.Get("state"), Agent: asked.Get("agent"), Conversation: asked.Get("conversation"),
		Metadata: asked.Get("metadata"), Since: asked.Get("since"),
	}}
	f := body.Filter
	body.Filter.Any = f != listFilter{}
	query, err := f.query(p.now(), asked.Get("updatedSince"))
	if err != nil {
		return err
	}
	query.Limit, query.Cursor = inList, asked.Get("cursor")
	list, err := p.link(r).List(r.Context(), query)
	if err != nil {
		return err
	}
	body.Executions = list.Executions
	if list.NextCursor != "" {
		next := values("state", f.State, "agent", f.Agent, "conversation", f.Conversation, "metadata", f.Metadata, "since", f.Since,
			"cursor", list.NextCursor)
		if query.UpdatedSinceMs > 0 { // the cursor is that of one instant
			next.Set("updatedSince", strconv.FormatInt(query.UpdatedSinceMs, 10))
		}
		body.Next = root + "/executions?" + next.Encode()
	}
	if body.Agents, err = p.link(r).Agents(r.Context()); err != nil {
		return err
	}
	page := p.page(r, "Executions", "executions")
	page.Body = body
	page.Live = everything()
	p.show(w, r, http.StatusOK, "executions", page)
	return nil
}

// query is what the form asks for; the link checks what it holds. updatedSince, an instant, is that of the first page.
func (f listFilter) query(now time.Time, updatedSince string) (execution.ListQuery, error) {
	query := execution.ListQuery{
		State: execution.State(f.State), Agent: strings.TrimSpace(f.Agent),
		ConversationID: execution.ConversationID(strings.TrimSpace(f.Conversation)),
	}
	for pair := range strings.SplitSeq(f.Metadata, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		if !found {
			return query, invalid("metadata", "want pairs such as order=7, with commas between them")
		}
		if query.Metadata == nil {
			query.Metadata = map[string]string{}
		}
		query.Metadata[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	var err error
	switch {
	case updatedSince != "":
		if query.UpdatedSinceMs, err = strconv.ParseInt(updatedSince, 10, 64); err != nil {
			return query, invalid("updatedSince", "must be an instant in milliseconds")
		}
	case f.Since != "":
		span, err := time.ParseDuration(f.Since)
		if err != nil || span <= 0 {
			return query, invalid("since", "want a span such as 5m or 24h")
		}
		query.UpdatedSinceMs = now.Add(-span).UnixMilli()
	}
	return query, nil
}

func invalid(field, detail string) error {
	return execution.NewAPIError(execution.InvalidRequest, "%s", detail).In(field)
}
