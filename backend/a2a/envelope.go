package a2a

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	"github.com/pawl-run/pawl/internal/a2arpc"
)

// envelope is what an answer of JSON-RPC is around its result.
type envelope struct {
	ID    json.RawMessage `json:"id"`
	Error *a2arpc.Error   `json:"error"`
}

// check returns the error that an answer to the request of that id is, if it is one. An error may have no id: whoever cannot
// read a request does not know its id. Any other answer is to another request, and none of this one's business.
func (e *envelope) check(id string) error {
	var own string
	switch {
	case json.Unmarshal(e.ID, &own) == nil && own == id:
	case e.Error != nil && (len(e.ID) == 0 || string(e.ID) == "null"):
	default:
		return &strangerError{id: id, other: string(e.ID)}
	}
	if e.Error != nil {
		return e.Error
	}
	return nil
}

// strangerError is an answer to another request.
type strangerError struct{ id, other string }

func (e *strangerError) Error() string { return "an answer to another request" }

// requestID is the id of a request of JSON-RPC; empty for one that is none, as that for a card.
func requestID(request *http.Request) string {
	if request.Method != http.MethodPost || request.GetBody == nil {
		return ""
	}
	body, err := request.GetBody()
	if err != nil {
		return ""
	}
	var asked struct {
		ID string `json:"id"`
	}
	_ = json.NewDecoder(body).Decode(&asked) // it was written here
	_ = body.Close()                         // it is in memory
	return asked.ID
}

// eventLines lets the lines of an event stream through as long as they answer the request of that id.
type eventLines struct {
	io.Closer
	lines *bufio.Reader
	id    string
	rest  []byte // of the line that was read last
	err   error  // what comes behind it
}

func newEventLines(body io.ReadCloser, id string) *eventLines {
	return &eventLines{Closer: body, lines: bufio.NewReader(body), id: id}
}

// Read implements io.Reader.
func (s *eventLines) Read(p []byte) (int, error) {
	for len(s.rest) == 0 {
		if s.err != nil {
			return 0, s.err
		}
		s.rest, s.err = s.line()
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

var dataField = []byte("data:")

// longLine is what the SDK takes for a line, and a little less.
const longLine = 60 << 10

// line is the next line, with the blank behind "data:" that the SDK wants and the format does not. What is no answer at all is
// left to the SDK, which refuses it. A piece of an artifact that is longer than the SDK takes is left out: whoever watches a task
// reads none.
func (s *eventLines) line() ([]byte, error) {
	line, err := s.lines.ReadBytes('\n')
	if err != nil && err != io.EOF {
		return nil, err
	}
	data, is := bytes.CutPrefix(line, dataField)
	if !is {
		return line, err
	}
	data = bytes.TrimSpace(data)
	var answer envelope
	if json.Unmarshal(data, &answer) == nil {
		if failed := answer.check(s.id); failed != nil {
			return nil, failed
		}
	}
	if len(data) > longLine && artifactPiece(data) {
		return []byte(":\n"), err
	}
	return append(append([]byte("data: "), data...), '\n'), err
}

func artifactPiece(data []byte) bool {
	var piece struct {
		Result struct {
			Kind string `json:"kind"`
		} `json:"result"`
	}
	return json.Unmarshal(data, &piece) == nil && piece.Result.Kind == "artifact-update"
}
