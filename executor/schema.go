package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pawl-run/pawl/agent"
	"github.com/pawl-run/pawl/internal/expression"
)

// schemas are the JSON Schemas of a definition and the conditions of its approvals, each compiled once. nil keeps nothing.
type schemas struct {
	mu         sync.Mutex
	compiled   map[string]*agent.Schema         // guarded by mu; by text
	conditions map[string]*expression.Condition // guarded by mu; by text. A definition has a bounded number of them
}

// maxSchemas bounds what is kept: a tool may be dynamic and bring another schema each time.
const maxSchemas = 1024

func newSchemas() *schemas {
	return &schemas{compiled: map[string]*agent.Schema{}, conditions: map[string]*expression.Condition{}}
}

// get compiles the schema, or finds it compiled.
func (s *schemas) get(schema json.RawMessage) (*agent.Schema, error) {
	if s == nil {
		return compile(schema)
	}
	s.mu.Lock()
	kept := s.compiled[string(schema)]
	s.mu.Unlock()
	if kept != nil {
		return kept, nil
	}
	made, err := compile(schema)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.compiled) < maxSchemas {
		s.compiled[string(schema)] = made
	}
	return made, nil
}

func compile(schema json.RawMessage) (*agent.Schema, error) {
	compiled, err := agent.CompileSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema cannot be used: %w", err)
	}
	return compiled, nil
}

// output checks a final answer. Without a schema any text will do and there is no structured output.
func (s *schemas) output(schema json.RawMessage, text string) (json.RawMessage, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	if err := s.fits(schema, []byte(text)); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return compact.Bytes(), nil
}

// fits checks a JSON document against a JSON Schema.
func (s *schemas) fits(schema json.RawMessage, document []byte) error {
	compiled, err := s.get(schema)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if tooDeep(document) {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("does not fit: %s", misfit(err))
	}
	return nil
}

// A misfit is told to models and people and stays in the history: so many places of it, each in so many bytes, are enough to
// mend a document, which may have a hundred thousand of them or repeat all of its own text.
const (
	maxMisfits = 20
	maxMisfit  = 256
)

// misfit says on one line where a document does not fit; the name of the schema, which says nothing, is left out.
func misfit(err error) string {
	text := err.Error()
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		_, text, _ = strings.Cut(text, "\n")
	}
	var points []string
	left := 0
	for line := range strings.Lines(text) {
		if len(points) == maxMisfits {
			left++
			continue
		}
		points = append(points, shortened(strings.TrimPrefix(strings.TrimSpace(line), "- ")))
	}
	if left > 0 {
		points = append(points, fmt.Sprintf("and %d more", left))
	}
	return strings.Join(points, "; ")
}

// shortened is a point without its middle if it is long: what is wrong stands at its end, where at its beginning.
func shortened(point string) string {
	if len(point) <= maxMisfit {
		return point
	}
	tail := len(point) - maxMisfit/2
	for tail < len(point) && !utf8.RuneStart(point[tail]) {
		tail++
	}
	return point[:prefix(point, maxMisfit/2)] + " … " + point[tail:]
}
