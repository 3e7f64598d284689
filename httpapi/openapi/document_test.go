package openapi_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/pawl-run/pawl/httpapi/openapi"
)

func load(t testing.TB) (*openapi.Document, map[string]any) {
	t.Helper()
	loaded, err := openapi.Load()
	require.NoError(t, err)
	var document map[string]any
	require.NoError(t, json.Unmarshal(loaded.JSON.Content, &document))
	return loaded, document
}

func TestTheSameDocumentIsMadeEveryTime(t *testing.T) {
	t.Parallel()
	first, _ := load(t)
	second, _ := load(t)
	require.Equal(t, first.JSON.ETag, second.JSON.ETag)
	require.Equal(t, first.Page.ETag, second.Page.ETag)
	require.Regexp(t, `^"[0-9a-f]{64}"$`, first.JSON.ETag)
}

// compilerOf compiles parts of the document as JSON Schemas.
func compilerOf(t testing.TB, document map[string]any) func(pointer string) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	require.NoError(t, compiler.AddResource("openapi.json", document))
	return func(pointer string) *jsonschema.Schema {
		schema, err := compiler.Compile("openapi.json#" + pointer)
		require.NoError(t, err, pointer)
		return schema
	}
}

// walk visits every object of the document with its JSON pointer.
func walk(value any, pointer string, visit func(pointer string, object map[string]any)) {
	switch value := value.(type) {
	case map[string]any:
		visit(pointer, value)
		for key, inner := range value {
			walk(inner, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1", "%", "%25", "{", "%7B", "}", "%7D").Replace(key), visit)
		}
	case []any:
		for _, inner := range value {
			if object, is := inner.(map[string]any); is && object["in"] != nil {
				walk(inner, "", visit) // a parameter: its own schema is checked where it is
			}
		}
	}
}

func TestEveryExampleFitsItsSchema(t *testing.T) {
	t.Parallel()
	_, document := load(t)
	compile := compilerOf(t, document)
	checked := 0
	fits := func(pointer string, example any) {
		checked++
		require.NoError(t, compile(pointer).Validate(example), "%s: %v", pointer, example)
	}
	for name, schema := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		examples, _ := schema.(map[string]any)["examples"].([]any)
		for _, example := range examples {
			fits("/components/schemas/"+name, example)
		}
	}
	walk(document, "", func(pointer string, object map[string]any) {
		if object["schema"] == nil || pointer == "" || object["x-itemSchema"] != nil {
			return
		}
		if example, has := object["example"]; has {
			fits(pointer+"/schema", example)
		}
		examples, _ := object["examples"].(map[string]any)
		for _, example := range examples {
			fits(pointer+"/schema", example.(map[string]any)["value"])
		}
	})
	require.Greater(t, checked, 60)
}

func TestEveryCallIsWhole(t *testing.T) {
	t.Parallel()
	_, document := load(t)
	seen := map[string]bool{}
	for path, item := range document["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			operation, is := operation.(map[string]any)
			if !is {
				continue
			}
			id, _ := operation["operationId"].(string)
			require.NotEmpty(t, id, path)
			require.False(t, seen[id], id)
			seen[id] = true
			require.NotEmpty(t, operation["summary"], id)
			require.NotEmpty(t, operation["tags"], id)
			require.NotEmpty(t, operation["x-codeSamples"], "%s %s has no command", method, path)
			if strings.HasPrefix(path, "/v1/") {
				require.Contains(t, []any{"submit", "read", "operate"}, operation["x-pawl-role"], id)
				require.NotEmpty(t, operation["description"], id)
			}
		}
	}
}

func TestBodiesOfRequestsAreClosed(t *testing.T) {
	t.Parallel()
	_, document := load(t)
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	var closed func(pointer string, value any)
	seen := map[string]bool{}
	closed = func(pointer string, value any) {
		switch value := value.(type) {
		case []any:
			for _, inner := range value {
				closed(pointer, inner)
			}
		case map[string]any:
			if reference, is := value["$ref"].(string); is && !seen[reference] {
				seen[reference] = true
				name := reference[strings.LastIndex(reference, "/")+1:]
				closed(name, schemas[name])
			}
			if value["properties"] != nil {
				require.Contains(t, value, "additionalProperties", pointer)
			}
			for key, inner := range value {
				if key != "examples" && key != "example" {
					closed(pointer+"/"+key, inner)
				}
			}
		}
	}
	for path, item := range document["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			if operation, is := operation.(map[string]any); is {
				closed(path, operation["requestBody"])
			}
		}
	}
	require.True(t, seen["#/components/schemas/CreateRequest"])
}

func TestThePageLoadsNothingFromElsewhereAndLinksOnlyToWhatItHas(t *testing.T) {
	t.Parallel()
	loaded, document := load(t)
	page := string(loaded.Page.Content)
	require.NotRegexp(t, `(?i)<script|<img|<iframe|style="|url\(|@import`, page+string(loaded.Style.Content))
	for _, match := range regexp.MustCompile(`(?:src|href)="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		target, isAnchor := strings.CutPrefix(match[1], "#")
		if isAnchor {
			require.Contains(t, page, `id="`+target+`"`)
			continue
		}
		require.Contains(t, []string{"docs/style.css", "openapi.json"}, match[1])
	}
	for _, item := range document["paths"].(map[string]any) {
		for _, operation := range item.(map[string]any) {
			if operation, is := operation.(map[string]any); is {
				require.Contains(t, page, `id="`+operation["operationId"].(string)+`"`)
			}
		}
	}
	for name := range document["components"].(map[string]any)["schemas"].(map[string]any) {
		require.Contains(t, page, `id="type-`+name+`"`)
	}
}
