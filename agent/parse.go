package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/execution"
)

var (
	validName  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
	validQueue = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
)

// Load reads and checks the agent file at path. A file with mistakes gives a *FileError that names all of them.
func Load(path string) (*Catalog, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load agents: %w", err)
	}
	return Parse(filepath.Base(path), data)
}

// Parse checks the text of an agent file; name stands for the file in messages. Every mistake is reported, not only the
// first, as a *FileError. Defaults are filled in, so that a later release with other defaults changes no definition that is
// already stored.
func Parse(name string, data []byte) (*Catalog, error) {
	p := &problems{file: name}
	var definitions []*Definition
	if root := readTree(data, p); root != nil {
		definitions = parseFile(p, root)
	}
	if err := p.err(); err != nil {
		return nil, err
	}
	return NewCatalog(definitions...)
}

func parseFile(p *problems, root *node) []*Definition {
	file := objectAt(p, root, "")
	if file == nil {
		return nil
	}
	if !file.has("agents") {
		file.bad("agents", "is required")
	}
	agents := file.child("agents")
	file.refuseUnknown()
	if agents == nil {
		return nil
	}
	if len(agents.node.entries) == 0 {
		p.add(agents.node.line, agents.path, "must name at least one agent")
	}
	definitions := make([]*Definition, 0, len(agents.node.entries))
	for _, e := range agents.node.entries {
		path := join(agents.path, e.key)
		if !validName.MatchString(e.key) {
			p.add(e.line, path, "an agent's name has 1 to 64 characters of A-Z a-z 0-9 _ -")
		}
		if o := objectAt(p, e.value, path); o != nil {
			definitions = append(definitions, parseAgent(o, e.key))
		}
	}
	checkCalled(agents, definitions)
	return definitions
}

func parseAgent(o *object, name string) *Definition {
	d := &Definition{Name: name, Backend: parseBackend(o), Publish: parsePublish(o)}
	if d.Backend == BackendA2A {
		parseRemoteAgent(o, d)
		return d
	}
	d.Model = parseModel(o)
	d.Instructions, _ = o.text("instructions")
	d.Tools = parseTools(o)
	requireToolDocs(o, d.Model.Provider)
	d.Limits = parseLimits(o)
	d.OutputSchema = o.schema("outputSchema", false)
	d.OutputRetries = o.small("outputRetries", 1)
	d.Queue = parseQueue(o)
	d.Retention = parseRetention(o)
	checkMoney(o, d)
	refuseAnswerTool(o, d)
	d.Results = parseResults(o)
	o.refuseKeys("only agents of the backend a2a have one", "endpoint")
	o.refuseUnknown(laterAgentKeys...)
	return d
}

// laterAgentKeys are keys of an agent that this version knows of and does not have.
var laterAgentKeys = []string{"generation", "remote", "conversation", "webhook", "durability", "auth"}

func parseBackend(o *object) string {
	return o.choice("backend", BackendLocal, BackendLocal, BackendA2A)
}

func parseQueue(o *object) string {
	value, ok := o.text("queue")
	if !ok {
		return ""
	}
	switch {
	case !validQueue.MatchString(value):
		o.bad("queue", "a queue's name has 1 to 32 characters of a-z 0-9 _ -")
	case reservedQueue(value):
		o.bad("queue", "%q is a queue of Pawl's own; choose another name", value)
	}
	return value
}

func reservedQueue(name string) bool {
	for _, priority := range []execution.Priority{execution.High, execution.Normal, execution.Low} {
		if name == priority.Queue() {
			return true
		}
	}
	return name == execution.SuspectQueue || strings.HasSuffix(name, execution.NewSuffix)
}
