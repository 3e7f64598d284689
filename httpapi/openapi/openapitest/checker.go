package openapitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/httpapi/openapi"
)

// Checker compares exchanges with the document. It is safe for concurrent use.
type Checker struct {
	Document map[string]any // decoded; not to be changed

	calls   []*Call
	schemas schemas
	items   *jsonschema.Schema // of what a stream's data holds
	problem *jsonschema.Schema
}

// New reads the document. It takes a second or so: one Checker serves a whole test program.
func New() (*Checker, error) {
	loaded, err := openapi.Load()
	if err != nil {
		return nil, err
	}
	var document, strict map[string]any
	if err := errors.Join(json.Unmarshal(loaded.JSON.Content, &document), json.Unmarshal(loaded.JSON.Content, &strict)); err != nil {
		return nil, err
	}
	closeObjects(strict)
	text, err := json.Marshal(strict)
	if err != nil {
		return nil, err
	}
	compared, err := schemasOf(text)
	if err != nil {
		return nil, err
	}
	c := &Checker{Document: document, calls: callsOf(document), schemas: compared}
	if c.items, err = compile(strict, "#/components/schemas/StreamItem"); err != nil {
		return nil, err
	}
	c.problem, err = compile(strict, "#/components/schemas/Problem")
	return c, err
}

// compile makes a schema of a part of the document.
func compile(document map[string]any, pointer string) (*jsonschema.Schema, error) {
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	if err := compiler.AddResource("openapi.json", document); err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	schema, err := compiler.Compile("openapi.json" + pointer)
	if err != nil {
		return nil, fmt.Errorf("openapitest: %w", err)
	}
	return schema, nil
}

// closeObjects lets objects that have properties have no others.
func closeObjects(value any) {
	switch value := value.(type) {
	case map[string]any:
		_, properties := value["properties"].(map[string]any)
		if _, said := value["additionalProperties"]; properties && !said && value["type"] == "object" {
			value["additionalProperties"] = false
		}
		for key, inner := range value {
			if key != "example" && key != "examples" {
				closeObjects(inner)
			}
		}
	case []any:
		for _, inner := range value {
			closeObjects(inner)
		}
	}
}

// Call is one operation of the document.
type Call struct {
	ID, Method, Path string
	Operation        map[string]any
	Parameters       []map[string]any // those of the path and its own, resolved

	segments  []string
	responses map[string]map[string]any // by status, resolved
}

// Calls are the operations of the document.
func (c *Checker) Calls() []*Call { return c.calls }

// Statuses are those that the call may be answered with.
func (c *Call) Statuses() []string {
	statuses := make([]string, 0, len(c.responses))
	for status := range c.responses {
		statuses = append(statuses, status)
	}
	return statuses
}

// Role is the least role that may make the call; empty: nobody needs one.
func (c *Call) Role() string {
	role, _ := c.Operation["x-pawl-role"].(string)
	return role
}

func callsOf(document map[string]any) []*Call {
	var calls []*Call
	for path, item := range document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			operation, is := operation.(map[string]any)
			if !is {
				continue // the parameters of the path
			}
			call := &Call{
				ID: operation["operationId"].(string), Method: strings.ToUpper(method), Path: path, Operation: operation,
				segments: strings.Split(path, "/"), responses: map[string]map[string]any{},
			}
			for _, owner := range []map[string]any{item.(map[string]any), operation} {
				list, _ := owner["parameters"].([]any)
				for _, parameter := range list {
					call.Parameters = append(call.Parameters, Resolve(document, parameter))
				}
			}
			for status, response := range operation["responses"].(map[string]any) {
				call.responses[status] = Resolve(document, response)
			}
			calls = append(calls, call)
		}
	}
	return calls
}

// Resolve follows references to the part of the document that is meant.
func Resolve(document map[string]any, part any) map[string]any {
	for {
		object, _ := part.(map[string]any)
		pointer, is := object["$ref"].(string)
		if !is {
			return object
		}
		part = document
		for _, key := range strings.Split(strings.TrimPrefix(pointer, "#/"), "/") {
			part = part.(map[string]any)[key]
		}
	}
}

// Find is the call that a request makes; nil when the document has none.
func (c *Checker) Find(r *http.Request) *Call {
	segments := strings.Split(r.URL.EscapedPath(), "/")
	var found *Call
	for _, call := range c.calls {
		if call.Method == r.Method && call.matches(segments) && (found == nil || !strings.Contains(call.Path, "{")) {
			found = call
		}
	}
	return found
}

func (c *Call) matches(segments []string) bool {
	if len(segments) != len(c.segments) {
		return false
	}
	for i, segment := range c.segments {
		if segments[i] == "" && segment != "" || !strings.HasPrefix(segment, "{") && segment != segments[i] {
			return false
		}
	}
	return true
}
