package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

func TestSchemaThatIsNestedTooDeepIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		depth int
		fine  bool
	}{{150, true}, {maxSchemaDepth + 1, false}, {4000, false}} {
		text := strings.Repeat(`{"not":`, test.depth) + "{}" + strings.Repeat("}", test.depth)
		if _, err := CompileSchema(json.RawMessage(text)); (err == nil) != test.fine {
			t.Errorf("depth %d: got %v", test.depth, err)
		}
	}
}

// manyRefs is a small schema that compares one value with width^levels places of itself.
func manyRefs(levels, width int, dialect string) json.RawMessage {
	defs := map[string]any{fmt.Sprint("d", levels): map[string]any{"type": "object"}}
	for level := range levels {
		next := make([]any, width)
		for i := range next {
			next[i] = map[string]any{"$ref": fmt.Sprint("#/$defs/d", level+1)}
		}
		defs[fmt.Sprint("d", level)] = map[string]any{"allOf": next}
	}
	text, err := json.Marshal(map[string]any{"$schema": dialect, "$defs": defs, "allOf": []any{map[string]any{"$ref": "#/$defs/d0"}}})
	if err != nil {
		panic(err)
	}
	return text
}

func TestSchemaThatTakesTooLongIsGivenUp(t *testing.T) {
	t.Parallel()
	for _, dialect := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema#"} {
		schema, err := CompileSchema(manyRefs(30, 10, dialect))
		if err != nil {
			t.Fatal(err)
		}
		require.Equal(t, maxSchemaSteps, schema.steps.most)
		schema.steps.most = 1000 // a million take a second
		for range 2 {            // whoever comes next is not locked out
			if err := schema.Validate(map[string]any{}); !errors.Is(err, errSchemaSteps) {
				t.Fatalf("%s: got %v", dialect, err)
			}
		}
		if err := schema.Validate(true); !errors.Is(err, errSchemaSteps) {
			t.Errorf("%s: got %v", dialect, err)
		}
		small, err := CompileSchema(manyRefs(3, 3, dialect))
		if err != nil {
			t.Fatal(err)
		}
		if err := small.Validate(map[string]any{}); err != nil {
			t.Errorf("%s: got %v", dialect, err)
		}
		if _, misfit := small.Validate(true).(*jsonschema.ValidationError); !misfit { //nolint:errorlint // not wrapped
			t.Errorf("%s: a text fits", dialect)
		}
	}
}

func TestAMistakeInASchemaNamesItsPlaceFirst(t *testing.T) {
	t.Parallel()
	_, err := CompileSchema(json.RawMessage(`{"type":"object","required":"city"}`))
	require.Error(t, err)
	require.True(t, strings.HasPrefix(schemaMessage(err), "at '': "), schemaMessage(err))
}
