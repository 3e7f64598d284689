package dashboard

import (
	"net/http"

	"github.com/pawl-run/pawl/auth"
	"github.com/pawl-run/pawl/execution"
	"github.com/pawl-run/pawl/link"
)

// listed is how many executions the overview lists of a state.
const listed = 8

// factsMs is how often a page looks at workers and queues anew: no event tells of a worker that has died.
const factsMs = 10_000

// overviewBody is the body of the overview.
type overviewBody struct {
	States    []stateCount // nil: the caller may not know them
	Suspended []execution.View
	Asking    []execution.View
	Newest    []execution.View
	Queues    []queueRow
	Stuck     []queueRow // queues that nobody serves, while others are served
	Workers   []Worker
	Slots     int
	Held      int
	NoWorker  bool // nobody takes tasks
	Work      *workBody
}

// stateCount is a tile.
type stateCount struct {
	State execution.State
	Count
}

// overview shows where all executions stand and which of them want somebody. What it costs does not grow with them.
func (p *Pages) overview(w http.ResponseWriter, r *http.Request) error {
	visit := auth.From(r.Context())
	body := overviewBody{}
	lists := []struct {
		into  *[]execution.View
		state execution.State
	}{{&body.Suspended, execution.Suspended}, {&body.Asking, execution.WaitingForInput}, {&body.Newest, ""}}
	for _, list := range lists {
		page, err := p.link(r).List(r.Context(), execution.ListQuery{State: list.state, Limit: listed})
		if err != nil {
			return err
		}
		*list.into = page.Executions
	}
	if err := p.addFacts(r, visit, &body); err != nil {
		return err
	}
	page := p.page(r, "Overview", "overview")
	page.Body = body
	page.Live = everything()
	page.Live.AgainMs = factsMs
	p.show(w, r, http.StatusOK, "overview", page)
	return nil
}

// addFacts adds what the caller may know of the installation. Who sees its own executions alone is told no numbers of its
// tenant.
func (p *Pages) addFacts(r *http.Request, visit *auth.Visit, body *overviewBody) error {
	role := visit.Authority.Role
	if p.cfg.Facts == nil || role != execution.ReadRole && role != execution.OperateRole {
		return nil
	}
	counts, err := p.cfg.Facts.Counts(r.Context(), visit.Authority.Caller.Tenant)
	if err != nil {
		return unavailable(err)
	}
	for _, state := range execution.States() {
		body.States = append(body.States, stateCount{state, counts[state]})
	}
	if !visit.Oversees() {
		return nil
	}
	queues, err := p.cfg.Facts.Queues(r.Context())
	if err != nil {
		return unavailable(err)
	}
	if body.Workers, err = p.cfg.Facts.Workers(r.Context()); err != nil {
		return unavailable(err)
	}
	body.Queues = served(queues, body.Workers)
	work := workOf(body.Workers)
	body.Work = &work
	body.NoWorker = true
	for _, worker := range body.Workers {
		body.Slots += worker.Concurrency
		body.Held += worker.Held
		body.NoWorker = body.NoWorker && worker.Draining
	}
	if !body.NoWorker {
		body.Stuck = stuck(body.Queues)
	}
	return nil
}

func unavailable(err error) error {
	return execution.NewAPIError(execution.Unavailable, "the installation cannot be looked at now").Because(err)
}

// everything is the stream of all that the caller may see. Text is of no use to a list.
func everything() *live {
	types := ""
	comma := ""
	for i, of := range execution.EventTypes() {
		if i > 0 {
			types, comma = types+" ", comma+","
		}
		types, comma = types+string(of), comma+string(of)
	}
	return &live{URL: "/v1/events?types=" + comma, Types: types, PaceMs: 1500}
}

// workersBody is the body of the page of workers.
type workersBody struct {
	Workers []Worker
	Queues  []queueRow
}

// workers shows who takes tasks, and what each holds. Holders are nobody's alone.
func (p *Pages) workers(w http.ResponseWriter, r *http.Request) error {
	if p.cfg.Facts == nil {
		return execution.NewAPIError(execution.NotFound, "there is no such page")
	}
	if !auth.From(r.Context()).Oversees() {
		return execution.NewAPIError(execution.Forbidden,
			"the workers are those of all tenants: they are shown to callers of tenant %s", execution.AllTenants)
	}
	workers, err := p.cfg.Facts.Workers(r.Context())
	if err != nil {
		return unavailable(err)
	}
	queues, err := p.cfg.Facts.Queues(r.Context())
	if err != nil {
		return unavailable(err)
	}
	page := p.page(r, "Workers", "workers")
	page.Body = workersBody{workers, served(queues, workers)}
	page.Live = everything()
	page.Live.AgainMs = factsMs
	p.show(w, r, http.StatusOK, "workers", page)
	return nil
}

// agents shows which agents may be named.
func (p *Pages) agents(w http.ResponseWriter, r *http.Request) error {
	agents, err := p.link(r).Agents(r.Context())
	if err != nil {
		return err
	}
	page := p.page(r, "Agents", "agents")
	page.Body = agents
	p.show(w, r, http.StatusOK, "agents", page)
	return nil
}

// find takes the id that somebody pasted to its page.
func (p *Pages) find(w http.ResponseWriter, r *http.Request) error {
	text := r.URL.Query().Get("id")
	if id, err := execution.ParseID(text); err == nil {
		http.Redirect(w, r, root+"/executions/"+string(id), http.StatusSeeOther)
		return nil
	}
	id, err := execution.ParseConversationID(text)
	if err != nil {
		return execution.NewAPIError(execution.InvalidRequest, "want the id of an execution or of a conversation").In("id")
	}
	http.Redirect(w, r, root+"/conversations/"+string(id), http.StatusSeeOther)
	return nil
}

// conversationBody is the body of a conversation's page.
type conversationBody struct {
	ID         execution.ConversationID
	Executions []execution.View // the oldest first
	Older      string           // the address of the page before
}

// conversation shows the executions of a conversation in their order.
func (p *Pages) conversation(w http.ResponseWriter, r *http.Request) error {
	id, err := execution.ParseConversationID(r.PathValue("id"))
	if err != nil {
		return execution.NewAPIError(execution.InvalidRequest, "not a conversation id").In("id").Because(err)
	}
	list, err := p.link(r).List(r.Context(), execution.ListQuery{
		ConversationID: id, Limit: link.DefaultLimit, Cursor: r.URL.Query().Get("cursor"),
	})
	if err != nil {
		return err
	}
	if len(list.Executions) == 0 && list.NextCursor == "" {
		return execution.NewAPIError(execution.NotFound, "there is no execution of such a conversation").In("id")
	}
	body := conversationBody{ID: id}
	for i := len(list.Executions) - 1; i >= 0; i-- {
		body.Executions = append(body.Executions, list.Executions[i])
	}
	if list.NextCursor != "" {
		body.Older = r.URL.Path + "?" + values("cursor", list.NextCursor).Encode()
	}
	page := p.page(r, "Conversation "+short(id), "conversations")
	page.Body = body
	page.Live = everything()
	p.show(w, r, http.StatusOK, "conversation", page)
	return nil
}
