package mcptool

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// canceledNotice is the method of the protocol's notice that a call was given up.
const canceledNotice = "notifications/cancelled" //nolint:misspell // the protocol's spelling

// farewells counts the notices that given-up calls owe the server. The SDK sends each when the call has returned already: a
// session that is closed as soon as its calls have returned would cut them off.
type farewells struct {
	mu   sync.Mutex
	owed int           // guarded by mu
	said int           // guarded by mu
	even chan struct{} // guarded by mu; closed when all that is owed is said; nil: nobody waits
}

// owe notes a call that was given up.
func (f *farewells) owe() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owed++
}

// sent notes the request if it is such a notice. It has been answered by now, or was not.
func (f *farewells) sent(req *http.Request) {
	if f == nil || !isNotice(req) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said++
	if f.said >= f.owed && f.even != nil {
		close(f.even)
		f.even = nil
	}
}

// wait is closed when all that is owed by now is said.
func (f *farewells) wait() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	even := make(chan struct{})
	if f.said >= f.owed {
		close(even)
	} else {
		f.even = even
	}
	return even
}

// maxNotice bounds a notice in bytes.
const maxNotice = 4 << 10

func isNotice(req *http.Request) bool {
	if req.Method != http.MethodPost || req.GetBody == nil || req.ContentLength > maxNotice {
		return false
	}
	body, err := req.GetBody()
	if err != nil {
		return false
	}
	defer func() { _ = body.Close() }() // it is in memory
	var message struct {
		Method string `json:"method"`
	}
	return json.NewDecoder(io.LimitReader(body, maxNotice)).Decode(&message) == nil && message.Method == canceledNotice
}
