package mcptool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pawl-run/pawl/backend/local"
)

const (
	// maxQuestions bounds what one call may ask for, one question after the other.
	maxQuestions = 20
	// maxTalk bounds, in bytes, what is kept of a call's questions while a person is asked.
	maxTalk = 128 << 10
)

// What a person did, in the protocol's words. Cancel is what a server hears while the person has not answered yet.
const (
	accepted = "accept"
	declined = "decline"
	canceled = "cancel"
)

// talk is what one call has asked and what people answered. It is the state of the call's question, and comes back with
// the answer. A server either asks in the middle of a call, or ends the call with what it needs to know:
//
//   - In the first form the call cannot wait for a person. It is sent again when there is an answer, and the questions that
//     the server then repeats are answered from Answers.
//   - In the second form the call is sent again with the answers to Round and the server's own state.
type talk struct {
	Version int      `json:"v"`
	Given   int      `json:"given,omitempty"` // answers in all, also those of earlier rounds
	Answers []answer `json:"answers,omitempty"`
	Open    string   `json:"open,omitempty"` // key of the question that a person is asked, in the first form
	Round   *round   `json:"round,omitempty"`
}

// answer is what a person said to the question of that key.
type answer struct {
	Key     string          `json:"key,omitempty"`
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
	Text    string          `json:"text,omitempty"` // in place of Content
}

// round is a result that needs input: the server's state, and its questions sorted by id.
type round struct {
	State     string     `json:"state,omitempty"`
	Questions []question `json:"questions"`
}

// question is what a server asks. Answer is nil until a person has answered.
type question struct {
	ID      string          `json:"id,omitempty"` // of a round
	Message string          `json:"message,omitempty"`
	Schema  json.RawMessage `json:"schema,omitempty"`
	Answer  *answer         `json:"answer,omitempty"`
}

// resumed is the talk of a call that begins or goes on.
func resumed(reply *local.Reply) (*talk, error) {
	t := &talk{Version: 1}
	if reply == nil {
		return t, nil
	}
	if err := json.Unmarshal(reply.State, t); err != nil {
		return nil, fmt.Errorf("the state of the call's question cannot be read: %w", err)
	}
	if t.Version != 1 {
		return nil, fmt.Errorf("the state of the call's question has version %d, which this program does not know", t.Version)
	}
	given := answer{Action: accepted, Content: reply.Content, Text: reply.Text}
	if reply.Declined {
		given = answer{Action: declined}
	}
	t.take(given)
	return t, nil
}

// take notes the answer to the question that is open.
func (t *talk) take(given answer) {
	if t.Round == nil {
		given.Key, t.Open = t.Open, ""
		t.Answers = append(t.Answers, given)
		t.Given++
		return
	}
	if next := t.Round.next(); next != nil {
		next.Answer = &given
		t.Given++
	}
}

// next is the round's first question without an answer that fits; nil when there is none.
func (r *round) next() *question {
	for i := range r.Questions {
		if r.Questions[i].Answer == nil {
			return &r.Questions[i]
		}
	}
	return nil
}

// responses are the answers to the round, as the protocol wants them. An answer that does not fit its question is taken
// away: the question is then the round's next, and why says what is wrong.
func (r *round) responses() (responses mcp.InputResponseMap, why string) {
	responses = mcp.InputResponseMap{}
	for i := range r.Questions {
		q := &r.Questions[i]
		if q.Answer == nil {
			continue
		}
		result, problem := q.Answer.result(q.Schema)
		if problem != "" {
			q.Answer, why = nil, problem
			continue
		}
		responses[q.ID] = result
	}
	return responses, why
}

// begin makes the result that needs input the round. Answers of the round before have reached the server.
func (t *talk) begin(from *mcp.CallToolResult) error {
	t.Round, t.Answers, t.Open = &round{State: from.RequestState}, nil, ""
	for _, id := range slices.Sorted(maps.Keys(from.InputRequests)) {
		params, ok := from.InputRequests[id].(*mcp.ElicitParams)
		if !ok {
			return errors.New("it asked for something else than an answer, which is not supported")
		}
		q, err := asks(params)
		if err != nil {
			return err
		}
		q.ID = id
		t.Round.Questions = append(t.Round.Questions, q)
	}
	return nil
}

// asks reads a question. Only forms are supported.
func asks(params *mcp.ElicitParams) (question, error) {
	if params.Mode == "url" || params.URL != "" || params.ElicitationID != "" {
		return question{}, errors.New("elicitation by URL is not supported")
	}
	q := question{Message: params.Message}
	if params.RequestedSchema != nil {
		schema, err := json.Marshal(params.RequestedSchema)
		if err != nil {
			return question{}, errors.New("the requested schema cannot be read")
		}
		q.Schema = schema
	}
	return q, nil
}

// key names a question by what it says: a call that is sent again asks in the same words.
func (q question) key() string {
	sum := sha256.Sum256(append(append([]byte(q.Message), 0), q.Schema...))
	return hex.EncodeToString(sum[:8])
}

// effectID is the effect id of the call's next sending. One that brings answers is a call of its own: a server that
// repeats what it has answered before must not repeat that nobody answered.
func (t *talk) effectID(id string) string {
	if t.Given == 0 {
		return id
	}
	return id + "#" + strconv.Itoa(t.Given)
}

// state is the talk for the ledger.
func (t *talk) state() (json.RawMessage, error) {
	state, err := json.Marshal(t)
	switch {
	case err != nil:
		return nil, fmt.Errorf("what it asked cannot be kept: %w", err)
	case len(state) > maxTalk:
		return nil, fmt.Errorf("what it asked takes %d bytes with its answers, which is more than %d", len(state), maxTalk)
	case t.Given >= maxQuestions:
		return nil, fmt.Errorf("it asked more than %d questions", maxQuestions)
	}
	return state, nil
}
