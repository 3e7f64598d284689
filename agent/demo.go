package agent

import (
	_ "embed"
	"encoding/json"
	"strings"
)

// DemoLookupURL is the lookup address that the demo file in examples/ names: `pawl dev` serves it where its API listens by
// default.
const DemoLookupURL = "http://127.0.0.1:8080/demo/lookup"

//go:embed demo.yaml
var demoYAML string

// Demo is the text of an agent file with the one agent "demo": a scripted model that calls an http tool at lookupURL and
// asks a person, then answers.
func Demo(lookupURL string) []byte {
	quoted, err := json.Marshal(lookupURL) // JSON text in quotes is YAML text in quotes
	if err != nil {
		panic(err) // a Go string always encodes
	}
	return []byte(strings.ReplaceAll(demoYAML, `"LOOKUP_URL"`, string(quoted)))
}
