package wiretest

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// record talks to the real API instead of a transcript, and writes a transcript of what was said. It needs a key.
var record = flag.Bool("record", false, "record transcripts from a provider's API; see make record") //nolint:gochecknoglobals // a flag

const recordTimeout = 5 * time.Minute

// Real is a provider's API, for recording: the environment variables of its key, of a model's name and of another address.
type Real struct {
	URL, Key, Model, Base string
	// TestKey and TestModel are what the tests use in their place; TestKey stands in the headers, TestModel in the body.
	TestKey, TestModel string
}

// Recorded is the file of a case's recorded transcript, and whether it is to be played: recorded ones are optional.
func Recorded(name string) (file string, exists bool) {
	file = filepath.Join("testdata", "recorded", name+".txt")
	_, err := os.Stat(file)
	return file, err == nil || *record
}

// recorder passes requests on to the real API and keeps what was said. It never keeps a header, so no key.
type recorder struct {
	real      Real
	key, name string
	base      string

	mu        sync.Mutex
	exchanges []exchange // guarded by mu
}

func newRecorder(t *testing.T, real Real) *recorder {
	t.Helper()
	r := &recorder{real: real, key: os.Getenv(real.Key), name: os.Getenv(real.Model), base: os.Getenv(real.Base)}
	if r.key == "" || r.name == "" {
		t.Skipf("recording needs %s and %s", real.Key, real.Model)
	}
	if r.base == "" {
		r.base = real.URL
	}
	return r
}

// ServeHTTP is the proxy.
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	sent := bytes.Replace(body, []byte(`"`+r.real.TestModel+`"`), []byte(`"`+r.name+`"`), 1)
	onward, err := http.NewRequestWithContext(request.Context(), request.Method, r.base+request.URL.Path, bytes.NewReader(sent))
	if err != nil {
		http.Error(w, "no request", http.StatusTeapot)
		return
	}
	for name, values := range request.Header {
		for _, value := range values {
			onward.Header.Add(name, strings.ReplaceAll(value, r.real.TestKey, r.key))
		}
	}
	response, err := (&http.Client{Timeout: recordTimeout}).Do(onward)
	if err != nil {
		http.Error(w, "no answer", http.StatusBadGateway)
		return
	}
	defer func() { _ = response.Body.Close() }()
	answer, _ := io.ReadAll(response.Body)
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, exchange{request: string(body), response: strings.ReplaceAll(string(answer), r.name, r.real.TestModel)})
}

// serve starts the proxy; save writes the transcript.
func (r *recorder) serve(t *testing.T) (url string, save func(file string)) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL, func(file string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		tr := &transcript{head: fmt.Sprintf("Recorded on %s from %s, model %s.\n", time.Now().UTC().Format(time.DateOnly), r.base, r.name)}
		for _, e := range r.exchanges {
			e.request = indented(t, e.request)
			tr.exchanges = append(tr.exchanges, e)
		}
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(tr.String()), 0o600))
	}
}

// String is the transcript as it is kept.
func (tr *transcript) String() string {
	var b strings.Builder
	b.WriteString(tr.head)
	for i, e := range tr.exchanges {
		fmt.Fprintf(&b, "-- request %d --\n%s-- response %d --\n%s", i+1, e.request, i+1, e.response)
	}
	return b.String()
}
