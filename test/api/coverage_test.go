package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/httpapi/openapi/openapitest"
)

// coverage counts the answers of each call by their status.
type coverage struct {
	mu     sync.Mutex
	counts map[string]map[string]int
	codes  map[string]int           // of problems
	took   map[string]time.Duration // by call, in all
	all    int
	good   int
}

func newCoverage() *coverage {
	return &coverage{counts: map[string]map[string]int{}, codes: map[string]int{}, took: map[string]time.Duration{}}
}

func (c *coverage) add(r *generated, status int, body []byte, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.took[r.call.ID] += took
	c.all++
	if status < http.StatusMultipleChoices {
		c.good++
	}
	var problem struct {
		Code string `json:"code"`
	}
	if status >= http.StatusBadRequest && json.Unmarshal(body, &problem) == nil {
		c.codes[problem.Code]++
	}
	if r.method != r.call.Method || r.how == "another path" {
		return // of no call
	}
	of := c.counts[r.call.ID]
	if of == nil {
		of = map[string]int{}
		c.counts[r.call.ID] = of
	}
	of[strconv.Itoa(status)]++
}

func (c *coverage) accepted() (good, all int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.good, c.all
}

func sortedCalls(calls []*openapitest.Call) []*openapitest.Call {
	return slices.SortedFunc(slices.Values(calls), func(a, b *openapitest.Call) int { return strings.Compare(a.ID, b.ID) })
}

// missingOf are the documented statuses of a call that were not seen, without the excepted ones.
func (c *coverage) missingOf(call *openapitest.Call, except func(*openapitest.Call, string) bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var missing []string
	for _, status := range call.Statuses() {
		if c.counts[call.ID][status] == 0 && (except == nil || !except(call, status)) {
			missing = append(missing, call.ID+" "+status)
		}
	}
	slices.Sort(missing)
	return missing
}

func (c *coverage) missing(calls []*openapitest.Call) []string {
	var missing []string
	for _, call := range sortedCalls(calls) {
		missing = append(missing, c.missingOf(call, nil)...)
	}
	return missing
}

// table is how often each call was answered with each status; - stands where none is documented.
func (c *coverage) table(calls []*openapitest.Call) string {
	statuses := map[string]any{}
	for _, call := range calls {
		for _, status := range call.Statuses() {
			statuses[status] = nil
		}
	}
	columns := sortedKeys(statuses)
	var out strings.Builder
	fmt.Fprintf(&out, "%-20s%7s", "", "ms")
	for _, status := range columns {
		fmt.Fprintf(&out, "%6s", status)
	}
	for _, call := range sortedCalls(calls) {
		fmt.Fprintf(&out, "\n%-20s%7d", call.ID, c.took[call.ID].Milliseconds())
		for _, status := range columns {
			text := "-"
			if slices.Contains(call.Statuses(), status) {
				text = strconv.Itoa(c.counts[call.ID][status])
			}
			fmt.Fprintf(&out, "%6s", text)
		}
	}
	out.WriteString("\ncodes:")
	codes := map[string]any{}
	for code := range c.codes {
		codes[code] = nil
	}
	for _, code := range sortedKeys(codes) {
		fmt.Fprintf(&out, " %s %d", code, c.codes[code])
	}
	return out.String()
}
