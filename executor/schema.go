package executor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// validateOutput checks a final answer. Without a schema any text will do and there is no structured output.
func validateOutput(schema json.RawMessage, text string) (json.RawMessage, error) {
	if len(schema) == 0 {
		return nil, nil
	}
	if err := fits(schema, []byte(text)); err != nil {
		return nil, err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return compact.Bytes(), nil
}

// fits checks a JSON document against a JSON Schema. References out of the schema are refused.
func fits(schema json.RawMessage, document []byte) error {
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return fmt.Errorf("the schema is not JSON: %w", err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if tooDeep(document) {
		return fmt.Errorf("nested deeper than %d", maxDepth)
	}
	const name = "schema.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, parsed); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	compiled, err := compiler.Compile(name)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := compiled.Validate(value); err != nil {
		return fmt.Errorf("does not fit: %w", err)
	}
	return nil
}

// noLoader refuses references to files and hosts.
type noLoader struct{}

var errForeignReference = errors.New("a schema may refer only to itself")

// Load refuses.
func (noLoader) Load(string) (any, error) { return nil, errForeignReference }
