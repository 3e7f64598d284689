package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is the base of a schema's own references. Nothing is ever loaded from it.
const schemaURL = "pawl:schema"

// noLoader refuses references out of the schema: a definition is complete in itself and opens no file and no connection.
type noLoader struct{}

func (noLoader) Load(string) (any, error) {
	return nil, errors.New("references to other documents are not supported")
}

// CompileSchema makes a JSON Schema (draft 2020-12 unless $schema says otherwise) ready to validate values decoded with
// json.Number. References may only point into the schema itself, it may be nested 200 levels deep, and its numbers
// and patterns are bounded.
func CompileSchema(schema json.RawMessage) (*Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	if err := shallow(document, 0); err != nil {
		return nil, err
	}
	if err := plainNumbers(document); err != nil {
		return nil, err
	}
	steps := &schemaSteps{most: maxSchemaSteps}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	engine := &patterns{left: maxPatternSize}
	compiler.UseRegexpEngine(engine.compile)
	steps.count(compiler)
	if err := compiler.AddResource(schemaURL, document); err != nil {
		return nil, fmt.Errorf("read JSON Schema: %w", err)
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil, fmt.Errorf("compile JSON Schema: %w", err)
	}
	engine.compiled = true
	return &Schema{compiled: compiled, steps: steps}, nil
}

// schema reads key as a JSON Schema; nil when it is not there. A schema of arguments must describe an object.
func (o *object) schema(key string, arguments bool) json.RawMessage {
	n := o.get(key)
	if n == nil {
		return nil
	}
	if n.kind != mapNode {
		o.bad(key, "must be a JSON Schema, a mapping, not %s", n.kind)
		return nil
	}
	raw := o.json(key)
	if raw == nil {
		return nil
	}
	if _, err := CompileSchema(raw); err != nil {
		o.bad(key, "is not a valid JSON Schema: %s", schemaMessage(err))
		return nil
	}
	if !arguments {
		return raw
	}
	if declared, _ := n.json().(map[string]any)["type"].(string); declared != "object" {
		o.bad(key, "must have type: object, because a model's arguments are an object")
		return nil
	}
	return raw
}

// schemaMessage is the reason on one line, without the internal address of the schema.
func schemaMessage(err error) string {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		err = invalid.Err
	}
	text := err.Error()
	var misfit *jsonschema.ValidationError
	if errors.As(err, &misfit) { // its first line names the schema of schemas
		if _, points, more := strings.Cut(text, "\n"); more {
			text = strings.TrimPrefix(points, "- ")
		}
	}
	text = strings.ReplaceAll(text, schemaURL+"#", "")
	text = strings.ReplaceAll(text, schemaURL, "the schema")
	return strings.Join(strings.Fields(text), " ")
}
