package executor

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestDecodeWhole_ReadsEachRecordByItself reads good and bad records in turn: none may leave a trace in the next one.
func TestDecodeWhole_ReadsEachRecordByItself(t *testing.T) {
	t.Parallel()
	type record struct {
		Name string          `json:"name"`
		Raw  json.RawMessage `json:"raw"`
	}
	large := strings.Repeat("x", 2*keptRecord)
	for _, c := range []struct{ data, wrong string }{
		{`{"name":"a","raw":[1]}`, ""},
		{`{"name":"b","else":1}`, "unknown field"},
		{`{"name":"c"`, "EOF"},
		{``, "EOF"},
		{`{"name":"d"} {"name":"e"}`, "trailing bytes"},
		{"\n {\"name\":\"f\"} \n", ""},
		{`{"name":1}`, "cannot unmarshal"},
		{`{"name":"` + large + `"}`, ""},
		{`{"name":"g"}x`, "trailing bytes"},
	} {
		for range 3 {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					var got record
					err := decodeWhole([]byte(c.data), &got)
					if c.wrong == "" {
						assert.NoError(t, err)
					} else {
						assert.ErrorContains(t, err, c.wrong)
					}
					var next record
					assert.NoError(t, decodeWhole([]byte(`{"name":"next","raw":{"a":2}}`), &next))
					assert.Equal(t, record{Name: "next", Raw: json.RawMessage(`{"a":2}`)}, next)
				})
			}
			all.Wait()
		}
	}
}
