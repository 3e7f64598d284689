package app

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/pawl-run/pawl/agent"
)

// demoPath is where `pawl dev` serves the endpoint that the demo agent's http tool calls.
const demoPath = "/demo/lookup"

// demoURL is that endpoint's address. It lies on the API's own address, so that an execution which outlives a restart
// still finds its tool. An API that listens everywhere is called on this machine.
func demoURL(addr string) string {
	if host, port, err := net.SplitHostPort(addr); err == nil {
		switch ip, _ := netip.ParseAddr(host); { // a name is no address, and stays
		case host == "" || ip == netip.IPv4Unspecified():
			addr = net.JoinHostPort("127.0.0.1", port)
		case ip == netip.IPv6Unspecified():
			addr = net.JoinHostPort("::1", port)
		}
	}
	return "http://" + addr + demoPath
}

// DemoAgents is the text of the agents file of `pawl dev`, whose API listens on addr.
func DemoAgents(addr string) []byte { return agent.Demo(demoURL(addr)) }

// demoLookup answers the demo agent: it finds flights to whatever city it is asked about. It has no effect, so asking
// again with the same Idempotency-Key is harmless.
func demoLookup(w http.ResponseWriter, r *http.Request) {
	var call struct {
		Arguments struct {
			City string `json:"city"`
		} `json:"arguments"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16)).Decode(&call); err != nil {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": fmt.Sprintf("cannot read the call: %v", err)})
		return
	}
	city := strings.TrimSpace(call.Arguments.City)
	if city == "" {
		answerJSON(w, http.StatusBadRequest, map[string]string{"error": "arguments.city is missing"})
		return
	}
	answerJSON(w, http.StatusOK, map[string]any{
		"city":    city,
		"flights": []map[string]any{{"number": "PW 101", "departs": "08:15", "price": 129}},
	})
}
