package agent

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write docs/agents.schema.json")

func TestSchemaPageIsCurrent(t *testing.T) {
	t.Parallel()
	const page = "../docs/agents.schema.json"
	if *update {
		require.NoError(t, os.WriteFile(page, FileSchema(), 0o644))
	}
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, string(FileSchema()), string(written), "run make docs")
}

// sample is an agent file that Parse accepts.
type sample struct{ name, text string }

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// samples are the files of examples/ and testdata/, and what is shown in the docs.
func samples(t *testing.T) []sample {
	t.Helper()
	var all []sample
	for _, pattern := range []string{"../examples/*/*.yaml", "../examples/*.yaml", "testdata/*.yaml"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all = append(all, sample{file, string(text)})
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	require.NoError(t, err)
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range yamlBlock.FindAllStringSubmatch(string(text), -1) {
			for i, file := range files(block[1]) {
				all = append(all, sample{fmt.Sprintf("%s %d %.30q", page, i, block[1]), file})
			}
		}
	}
	require.Greater(t, len(all), 10)
	return all
}

// files makes agent files of a block, which may show some keys of an agent only, and models one to a line.
func files(block string) []string {
	if strings.HasPrefix(block, "agents:") || strings.Contains(block, "\nagents:") {
		return []string{block}
	}
	wrap := func(text, model string) string {
		return "agents:\n  demo:\n" + model + "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	}
	if !strings.HasPrefix(block, "model:") {
		return []string{wrap(block, "    model: {provider: scripted, turns: [{text: hi}]}\n")}
	}
	var all []string
	for _, model := range strings.Split(block, "\nmodel:") {
		all = append(all, wrap("model:"+strings.TrimPrefix(model, "model:"), ""))
	}
	return all
}

// read is a file as the schema sees it, and the keys that the parser knows, by path.
func read(text string) (value any, known map[string][]string, err error) {
	known = map[string][]string{}
	p := &problems{file: "f.yaml", known: func(path string, keys []string) { known[path] = keys }}
	root := readTree([]byte(text), p)
	if root == nil {
		return nil, nil, p.err()
	}
	parseFile(p, root)
	return root.json(), known, p.err()
}

func compiled(t *testing.T) *Schema {
	t.Helper()
	schema, err := CompileSchema(FileSchema())
	require.NoError(t, err)
	return schema
}

func TestSchemaAcceptsEverySample(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, s := range samples(t) {
		value, _, err := read(s.text)
		require.NoError(t, err, s.name)
		require.NoError(t, schema.Validate(value), s.name)
	}
}

func TestTheAgentOfTheReadmeIsAnExample(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("../examples/librarian/agents.yaml")
	require.NoError(t, err)
	shown := yamlBlock.FindStringSubmatch(string(readme))
	require.NotNil(t, shown)
	require.Equal(t, strings.ReplaceAll(shown[1], "$schema=docs/", "$schema=../../docs/"), string(example))
}

// A key that the parser has learnt and the schema has not, or the other way round, fails here, and so does an object of
// the schema that no sample has: add to agents.schema.json and to testdata/complete.yaml, then run make docs.
func TestSchemaHasTheKeysOfTheParser(t *testing.T) {
	t.Parallel()
	var document map[string]any
	require.NoError(t, json.Unmarshal(FileSchema(), &document))
	walk := &walker{document: document, visited: map[string]bool{}, compiled: map[string]*Schema{}}
	for _, s := range samples(t) {
		value, known, err := read(s.text)
		require.NoError(t, err, s.name)
		for path, keys := range known {
			have, refused := walk.keys(t, value, path)
			require.Subset(t, have, keys, "%s: agents.schema.json lacks keys of %s", s.name, path)
			have = slices.DeleteFunc(have, func(key string) bool { return refused[key] && !slices.Contains(keys, key) })
			require.Equal(t, keys, have, "%s: agents.schema.json has keys of %s that the parser does not know", s.name, path)
		}
	}
	for name, definition := range document["$defs"].(map[string]any) {
		if definition.(map[string]any)["additionalProperties"] == false {
			require.True(t, walk.visited[name], "no sample has a %s: add one to testdata/complete.yaml", name)
		}
	}
}

// walker finds the parts of the schema that describe a place in a file.
type walker struct {
	document map[string]any
	visited  map[string]bool // definitions
	compiled map[string]*Schema
}

// keys are the properties that the schema has for the mapping at path, and those that do not go with the ones that are there.
func (w *walker) keys(t *testing.T, value any, path string) (keys []string, refused map[string]bool) {
	t.Helper()
	nodes := w.applied(t, w.document, value)
	for _, step := range regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z0-9_-]+`).FindAllString(path, -1) {
		var next []map[string]any
		value, next = down(t, nodes, value, strings.Trim(step, `"`))
		nodes = nil
		for _, node := range next {
			nodes = append(nodes, w.applied(t, node, value)...)
		}
	}
	have := map[string]bool{}
	refused = map[string]bool{}
	for _, node := range nodes {
		properties, _ := node["properties"].(map[string]any)
		for key, property := range properties {
			refused[key] = refused[key] || property == false
			have[key] = have[key] || node["additionalProperties"] == false
		}
	}
	for key, belongs := range have {
		if belongs {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, refused
}

// down goes to a key or an item.
func down(t *testing.T, nodes []map[string]any, value any, step string) (any, []map[string]any) {
	t.Helper()
	var next []map[string]any
	add := func(node any) {
		if object, ok := node.(map[string]any); ok {
			next = append(next, object)
		}
	}
	switch v := value.(type) {
	case []any:
		var i int
		_, err := fmt.Sscan(step, &i)
		require.NoError(t, err)
		for _, node := range nodes {
			add(node["items"])
		}
		return v[i], next
	case map[string]any:
		for _, node := range nodes {
			properties, _ := node["properties"].(map[string]any)
			if property, ok := properties[step]; ok {
				add(property)
			} else {
				add(node["additionalProperties"])
			}
		}
		return v[step], next
	}
	require.Fail(t, "no such place", step)
	return nil, nil
}

// applied are a node and what it refers to, as far as it concerns value.
func (w *walker) applied(t *testing.T, node map[string]any, value any) []map[string]any {
	t.Helper()
	all := []map[string]any{node}
	if ref, ok := node["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/$defs/")
		w.visited[name] = true
		all = append(all, w.applied(t, w.document["$defs"].(map[string]any)[name].(map[string]any), value)...)
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := node[word].([]any)
		for _, part := range parts {
			if word == "allOf" || w.fits(t, part, value) {
				all = append(all, w.applied(t, part.(map[string]any), value)...)
			}
		}
	}
	if condition, ok := node["if"]; ok {
		branch, _ := node["else"].(map[string]any)
		if w.fits(t, condition, value) {
			branch, _ = node["then"].(map[string]any)
		}
		if branch != nil {
			all = append(all, w.applied(t, branch, value)...)
		}
	}
	return all
}

func (w *walker) fits(t *testing.T, part, value any) bool {
	t.Helper()
	whole := maps.Clone(part.(map[string]any))
	whole["$defs"] = w.document["$defs"]
	text, err := json.Marshal(whole)
	require.NoError(t, err)
	schema, known := w.compiled[string(text)]
	if !known {
		schema, err = CompileSchema(text)
		require.NoError(t, err)
		w.compiled[string(text)] = schema
	}
	return schema.Validate(value) == nil
}

// Every place of every sample is changed in ways that make mistakes. What the parser still accepts the schema accepts too,
// and a key that nobody knows both refuse.
func TestSchemaRefusesNothingThatTheParserAccepts(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	tried, both := 0, 0
	for _, s := range samples(t) {
		original, known, err := read(s.text)
		require.NoError(t, err, s.name)
		for path := range known {
			changed := clone(original)
			at(changed, path).(map[string]any)["zzz"] = "x"
			_, _, err := read(write(t, changed))
			require.ErrorContains(t, err, "zzz: unknown key", s.name)
			require.Error(t, schema.Validate(changed), "%s: an unknown key in %s", s.name, path)
		}
		everyAgent(original, func(changed any, what string) {
			value, _, err := read(write(t, changed))
			refused := value == nil || schema.Validate(value) != nil
			tried++
			if err == nil {
				require.False(t, refused, "%s: %s", s.name, what)
			} else if refused {
				both++
			}
		})
	}
	t.Logf("%d changes; both refuse %d", tried, both)
	require.Greater(t, both, tried/3, "the schema finds most mistakes")
}

// everyAgent changes each agent of a file, alone in a file of its own.
func everyAgent(original any, try func(changed any, what string)) {
	for name, agent := range original.(map[string]any)["agents"].(map[string]any) {
		everyChange(map[string]any{"agents": map[string]any{name: agent}}, try)
	}
}

// everyChange takes away each key and item, and puts other values in place of each value.
func everyChange(original any, try func(changed any, what string)) {
	others := []any{"", "word", "30s", json.Number("0"), json.Number("-1"), json.Number("1.5"), true, nil, []any{}, map[string]any{}}
	var visit func(path []any, value any)
	visit = func(path []any, value any) {
		if len(path) > 0 {
			try(replace(original, path, nil, true), fmt.Sprint("without ", path))
			for _, other := range others {
				try(replace(original, path, other, false), fmt.Sprint(path, " is ", other))
			}
		}
		switch v := value.(type) {
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				visit(append(slices.Clone(path), key), v[key])
			}
		case []any:
			for i := range v {
				visit(append(slices.Clone(path), i), v[i])
			}
		}
	}
	visit(nil, original)
}

// replace is a copy in which the value at path is another one, or gone.
func replace(original any, path []any, other any, gone bool) any {
	if len(path) == 0 {
		return other
	}
	switch v := original.(type) {
	case map[string]any:
		changed := maps.Clone(v)
		key := path[0].(string)
		if gone && len(path) == 1 {
			delete(changed, key)
		} else {
			changed[key] = replace(v[key], path[1:], other, gone)
		}
		return changed
	case []any:
		i := path[0].(int)
		if gone && len(path) == 1 {
			return slices.Delete(slices.Clone(v), i, i+1)
		}
		changed := slices.Clone(v)
		changed[i] = replace(v[i], path[1:], other, gone)
		return changed
	}
	return original
}

func clone(value any) any {
	switch v := value.(type) {
	case map[string]any:
		copied := map[string]any{}
		for key, item := range v {
			copied[key] = clone(item)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, item := range v {
			copied[i] = clone(item)
		}
		return copied
	}
	return value
}

// at is the value at a path of the parser.
func at(value any, path string) any {
	for _, step := range regexp.MustCompile(`[A-Za-z0-9_-]+`).FindAllString(path, -1) {
		switch v := value.(type) {
		case map[string]any:
			value = v[step]
		case []any:
			var i int
			_, _ = fmt.Sscan(step, &i) // a number: the parser's path says so
			value = v[i]
		}
	}
	return value
}

// write is value as YAML, which JSON is.
func write(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}
