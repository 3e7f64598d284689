package agent

import (
	"errors"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// maxSchemaDepth bounds how deep a schema may be nested, as agent files are: what checks it takes the cube of its depth.
	maxSchemaDepth = maxDepth
	// maxSchemaSteps bounds the places of a schema that one value is compared with, which is a second or two of work. A
	// schema of 2 KiB whose parts refer to each other asks for billions, and nothing could interrupt that.
	maxSchemaSteps = 1_000_000
)

// errSchemaSteps ends a check that takes too long.
var errSchemaSteps = errors.New("the schema takes too long to check")

// Schema is a compiled JSON Schema. It is safe for concurrent use; one value is checked at a time.
type Schema struct {
	mu       sync.Mutex
	compiled *jsonschema.Schema
	steps    *schemaSteps // guarded by mu
}

// Validate reports where value, decoded with json.Number, does not fit: as a *jsonschema.ValidationError, or as another
// error when the schema asks for too much work to find out, or value holds a number out of range.
func (s *Schema) Validate(value any) (err error) {
	if err := plainNumbers(value); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps.left = s.steps.most
	defer func() {
		switch panicked := recover(); panicked {
		case nil:
		case errSchemaSteps:
			err = errSchemaSteps
		default:
			panic(panicked)
		}
	}()
	return s.compiled.Validate(value)
}

// schemaSteps counts down at each place of a schema that is done with. The library that checks cannot be told to stop, so
// the last step panics, and Validate recovers.
type schemaSteps struct {
	most, left int
}

// Validate implements jsonschema.SchemaExt.
func (s *schemaSteps) Validate(*jsonschema.ValidatorContext, any) {
	if s.left--; s.left < 0 {
		panic(errSchemaSteps)
	}
}

// count has the steps of all that compiler makes counted.
func (s *schemaSteps) count(compiler *jsonschema.Compiler) {
	compiler.RegisterVocabulary(&jsonschema.Vocabulary{
		URL: schemaURL + "/steps",
		Compile: func(*jsonschema.CompilerContext, map[string]any) (jsonschema.SchemaExt, error) {
			return s, nil
		},
	})
	compiler.AssertVocabs()
}

// shallow refuses a document that is nested too deep for a schema. It recurses no deeper than it allows.
func shallow(document any, depth int) error {
	if depth > maxSchemaDepth {
		return fmt.Errorf("nests deeper than %d levels", maxSchemaDepth)
	}
	switch value := document.(type) {
	case map[string]any:
		for _, member := range value {
			if err := shallow(member, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range value {
			if err := shallow(item, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
