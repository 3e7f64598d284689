package modelserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// The providers whose wire formats a Server speaks.
const (
	ProviderOpenAI    = "openai"
	ProviderAnthropic = "anthropic"
)

// Request is a request that kept the rules.
type Request struct {
	Provider string
	Model    string
	// Said is the last text of a user; Results are the results behind it.
	Said    string
	Results []Result
	Tools   []string
	// MaxOutputTokens is the bound of the answer; 0: none.
	MaxOutputTokens int64
	Body            []byte
}

// Result is a tool's result as the model reads it.
type Result struct {
	ID      string
	Text    string
	IsError bool // said in a field; OpenAI's format has none
}

// Reply is what a server answers.
type Reply struct {
	// Status other than 0 and 200 answers an error with Message, and RetryAfter seconds when it is not 0.
	Status     int
	Message    string
	RetryAfter int

	Text  []string // in pieces
	Calls []Call
	Usage *Usage
	Cut   bool // stopped by the bound of the answer
	// Hold keeps the answer open behind its text, until the client closes the connection.
	Hold bool
	// Pace is the time between the pieces of the text.
	Pace time.Duration
}

// Call is a tool call.
type Call struct {
	Name      string
	Arguments string // a JSON object
}

// Usage is what a server reports. Anthropic's format reports Input before the text and Output behind it, OpenAI's both
// behind it.
type Usage struct{ Input, Output int64 }

// Exchange is what a server remembers of a request.
type Exchange struct {
	Request
	Refused string // why it was answered 400; empty when it kept the rules
	Arrived time.Time
	Ended   time.Time // zero while it is under way
	Closed  bool      // the client closed the connection before the answer had ended
}

// Server is a running model server.
type Server struct {
	URL string

	answer func(Request) Reply // immutable

	mu        sync.Mutex
	exchanges []*Exchange
	calls     int // guarded by mu: for the ids of calls
}

// New starts a server that answers as the function says. Models of OpenAI's format are at URL+"/v1", those of other
// dialects at URL+"/deepseek/v1" and URL+"/kimi/v1", Anthropic's at URL.
func New(tb testing.TB, answer func(Request) Reply) *Server {
	tb.Helper()
	s := &Server{answer: answer}
	server := httptest.NewServer(s)
	s.URL = server.URL
	tb.Cleanup(func() {
		server.CloseClientConnections() // answers that are held open end with their connection
		server.Close()
	})
	return s
}

// Exchanges lists what happened so far.
func (s *Server) Exchanges() []Exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Exchange, len(s.exchanges))
	for i, exchange := range s.exchanges {
		list[i] = *exchange
	}
	return list
}

// CheckAccepted fails the test if a request was answered 400.
func (s *Server) CheckAccepted(tb testing.TB) {
	tb.Helper()
	for i, exchange := range s.Exchanges() {
		if exchange.Refused != "" {
			tb.Errorf("request %d: %s\n%s", i+1, exchange.Refused, exchange.Body)
		}
	}
}

// ServeHTTP checks the request and answers it.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	exchange := &Exchange{Arrived: time.Now()}
	provider, dialect := formatOf(r)
	if provider == "" {
		http.NotFound(w, r)
		return
	}
	problem := check(provider, dialect, body)
	read, write := readOpenAI, writeOpenAI
	if provider == ProviderAnthropic {
		read, write = readAnthropic, writeAnthropic
	}
	if problem == nil {
		exchange.Request = read(body)
	}
	exchange.Body = body
	if problem != nil {
		exchange.Refused = problem.Error()
	}
	s.begin(exchange)
	defer s.end(exchange, r)
	reply := Reply{Status: http.StatusBadRequest, Message: exchange.Refused}
	if problem == nil {
		reply = s.answer(exchange.Request)
	}
	if reply.Status != 0 && reply.Status != http.StatusOK {
		refuse(w, reply)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	write(&stream{w: w, gone: r.Context().Done(), number: s.number(len(reply.Calls))}, reply)
}

// Check says why the API that a request is addressed to would answer 400 to its body; nil when it would not, or when no API
// is known at that address.
func Check(r *http.Request, body []byte) error {
	provider, dialect := formatOf(r)
	if provider == "" {
		return nil
	}
	return check(provider, dialect, body)
}

func check(provider string, dialect Dialect, body []byte) error {
	if provider == ProviderAnthropic {
		return CheckAnthropic(body)
	}
	return CheckOpenAI(body, dialect)
}

// formatOf says whose wire format a request has, by its path; "" when nobody's.
func formatOf(r *http.Request) (provider string, dialect Dialect) {
	if r.Method != http.MethodPost {
		return "", ""
	}
	if r.URL.Path == "/v1/messages" {
		return ProviderAnthropic, ""
	}
	before, found := strings.CutSuffix(r.URL.Path, "/v1/chat/completions")
	switch dialect = Dialect(strings.TrimPrefix(before, "/")); {
	case !found:
		return "", ""
	case dialect == "":
		return ProviderOpenAI, OpenAI
	case dialect == DeepSeek, dialect == Kimi:
		return ProviderOpenAI, dialect
	}
	return "", ""
}

func (s *Server) begin(exchange *Exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exchanges = append(s.exchanges, exchange)
}

func (s *Server) end(exchange *Exchange, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	exchange.Ended, exchange.Closed = time.Now(), r.Context().Err() != nil
}

// number reserves numbers for calls, so that the ids of a server's calls differ.
func (s *Server) number(calls int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.calls
	s.calls += calls
	return first
}

func refuse(w http.ResponseWriter, reply Reply) {
	w.Header().Set("Content-Type", "application/json")
	if reply.RetryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(reply.RetryAfter))
	}
	w.WriteHeader(reply.Status)
	message, _ := json.Marshal(reply.Message) // a Go string always encodes
	_, _ = fmt.Fprintf(w, `{"type":"error","error":{"message":%s,"type":"invalid_request_error"}}`, message)
}

// stream is an answer under way.
type stream struct {
	w      http.ResponseWriter
	gone   <-chan struct{} // closed when the client has closed the connection
	number int             // of the first call
}

// texts sends the pieces of the text in the reply's pace and reports whether the answer goes on.
func (s *stream) texts(reply Reply, send func(text string)) bool {
	pace := time.NewTicker(max(reply.Pace, time.Nanosecond))
	defer pace.Stop()
	for _, text := range reply.Text {
		send(text)
		if reply.Pace == 0 {
			continue
		}
		select {
		case <-pace.C:
		case <-s.gone:
			return false
		}
	}
	if reply.Hold {
		<-s.gone
	}
	return !reply.Hold
}

// send writes one event and flushes it; name may be empty.
func (s *stream) send(name string, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		return
	}
	if name != "" {
		_, _ = fmt.Fprintf(s.w, "event: %s\n", name)
	}
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data) // the client may have gone
	if flusher, ok := s.w.(http.Flusher); ok {
		flusher.Flush()
	}
}
