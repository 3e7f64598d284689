package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Bounds of an agent file. They keep a wrong file from taking the program's memory, not a hostile one from being read:
// the file belongs to whoever runs the program.
const (
	maxFileBytes = 1 << 20
	maxDepth     = 200
	maxNodes     = 200_000
)

type nodeKind int

const (
	nullNode nodeKind = iota
	stringNode
	numberNode
	boolNode
	listNode
	mapNode
)

func (k nodeKind) String() string {
	return [...]string{"nothing", "text", "a number", "true or false", "a list", "a mapping"}[k]
}

// node is a YAML value with its place: what the checks read, free of the YAML library.
type node struct {
	kind    nodeKind
	line    int
	text    string // of a string
	number  json.Number
	truth   bool
	items   []*node
	entries []entry // in the file's order, keys unique
}

type entry struct {
	key   string
	line  int
	value *node
}

// readTree parses one YAML document. It returns nil after adding problems when the file cannot be read as one.
func readTree(data []byte, p *problems) (root *node) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF")) // some editors begin a file with it
	if problem := unreadable(data); problem != "" {
		p.add(0, "", "%s", problem)
		return nil
	}
	// The YAML parser has panicked on odd input before; a wrong file must end in a message.
	defer func() {
		if r := recover(); r != nil {
			p.add(0, "", "is not YAML that can be read")
			root = nil
		}
	}()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		addSyntaxError(err, p)
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if _, directive := doc.Body.(*ast.DirectiveNode); directive || doc.Body == nil { // "%YAML 1.2" stands before its document
			continue
		}
		if body != nil {
			p.add(lineOf(doc.Body), "", "a second YAML document is not supported")
			return nil
		}
		body = doc.Body
	}
	if body == nil {
		p.add(0, "", "is empty; it must have a key agents")
		return nil
	}
	t := &treeReader{problems: p, anchors: map[string]ast.Node{}}
	return t.value(body, "", 0)
}

func unreadable(data []byte) string {
	switch {
	case len(data) > maxFileBytes:
		return "is larger than 1 MiB"
	case !utf8.Valid(data):
		return "is not UTF-8 text"
	case bytes.IndexByte(data, 0) >= 0:
		return "holds a zero byte; it is not a text file"
	}
	open := 0
	for _, c := range data {
		switch c {
		case '[', '{':
			open++
		case ']', '}':
			open--
		}
		if open > maxDepth {
			return fmt.Sprintf("nests deeper than %d levels", maxDepth)
		}
	}
	return ""
}

func addSyntaxError(err error, p *problems) {
	var syntax yaml.Error
	if errors.As(err, &syntax) {
		line := 0
		if token := syntax.GetToken(); token != nil && token.Position != nil {
			line = token.Position.Line
		}
		p.add(line, "", "is not valid YAML: %s", syntax.GetMessage())
		return
	}
	p.add(0, "", "is not valid YAML: %s", err)
}

// lineOf is the line a node begins on, 0 when the library does not say.
func lineOf(n ast.Node) int {
	if token := n.GetToken(); token != nil && token.Position != nil {
		return token.Position.Line
	}
	return 0
}

// treeReader turns the library's nodes into ours. Aliases are followed, within the same bounds as everything else.
type treeReader struct {
	problems *problems
	anchors  map[string]ast.Node
	seen     int
	stopped  bool // a bound was passed and reported
}

// value reads n, whose key path is path; nil after a problem.
func (t *treeReader) value(n ast.Node, path string, depth int) *node {
	if t.stopped {
		return nil
	}
	if t.seen++; t.seen > maxNodes || depth > maxDepth {
		t.problems.add(lineOf(n), path, "the file is too large or nests too deeply here")
		t.stopped = true
		return nil
	}
	line := lineOf(n)
	switch v := n.(type) {
	case *ast.MappingNode:
		return t.mapping(line, v.Values, path, depth)
	case *ast.MappingValueNode:
		return t.mapping(line, []*ast.MappingValueNode{v}, path, depth)
	case *ast.SequenceNode:
		return t.sequence(line, v, path, depth)
	case *ast.AnchorNode:
		name := v.Name.String()
		read := t.value(v.Value, path, depth+1)
		t.anchors[name] = v.Value // after its value, so that an alias cannot be inside what it names
		return read
	case *ast.AliasNode:
		target, ok := t.anchors[v.Value.String()]
		if !ok {
			t.problems.add(line, path, "the alias *%s names no anchor above it", v.Value.String())
			return nil
		}
		return t.value(target, path, depth+1)
	default:
		return t.scalar(line, n, path)
	}
}

func (t *treeReader) scalar(line int, n ast.Node, path string) *node {
	switch v := n.(type) {
	case *ast.NullNode:
		return &node{kind: nullNode, line: line}
	case *ast.StringNode:
		return &node{kind: stringNode, line: line, text: v.Value}
	case *ast.LiteralNode:
		return &node{kind: stringNode, line: line, text: v.Value.Value}
	case *ast.BoolNode:
		return &node{kind: boolNode, line: line, truth: v.Value}
	case *ast.IntegerNode:
		return &node{kind: numberNode, line: line, number: json.Number(fmt.Sprint(v.Value))}
	case *ast.FloatNode:
		text, err := json.Marshal(v.Value)
		if err != nil {
			t.problems.add(line, path, "is not a number JSON can hold")
			return nil
		}
		return &node{kind: numberNode, line: line, number: json.Number(text)}
	case *ast.InfinityNode, *ast.NanNode:
		t.problems.add(line, path, "is not a number JSON can hold")
		return nil
	case *ast.TagNode:
		t.problems.add(line, path, "YAML tags are not supported; write text in quotes")
		return nil
	default:
		t.problems.add(line, path, "%s is not supported here", strings.ToLower(n.Type().YAMLName()))
		return nil
	}
}

func (t *treeReader) sequence(line int, v *ast.SequenceNode, path string, depth int) *node {
	list := &node{kind: listNode, line: line, items: make([]*node, 0, len(v.Values))}
	for i, item := range v.Values {
		read := t.value(item, fmt.Sprintf("%s[%d]", path, i), depth+1)
		if read == nil {
			read = &node{kind: nullNode, line: lineOf(item)} // keeps the numbers of those behind it
		}
		list.items = append(list.items, read)
	}
	return list
}

func (t *treeReader) mapping(line int, values []*ast.MappingValueNode, path string, depth int) *node {
	m := &node{kind: mapNode, line: line}
	lines := make(map[string]int, len(values))
	for _, v := range values {
		keyLine := lineOf(v.Key)
		name, problem := keyOf(v.Key)
		if problem != "" {
			t.problems.add(keyLine, path, "%s", problem)
			continue
		}
		keyPath := join(path, name)
		if first, twice := lines[name]; twice {
			t.problems.add(keyLine, keyPath, "is there twice; the first is in line %d", first)
			continue
		}
		lines[name] = keyLine
		read := t.value(v.Value, keyPath, depth+1)
		if read == nil {
			continue
		}
		if read.kind == mapNode || read.kind == listNode {
			read.line = keyLine // what is missing inside is looked for at the key
		}
		m.entries = append(m.entries, entry{key: name, line: keyLine, value: read})
	}
	return m
}

// keyOf is a key as text, or what is wrong with it. What an anchor, an alias, a tag or a ? stands before is not in its token.
func keyOf(n ast.MapKeyNode) (name, problem string) {
	switch key := n.(type) {
	case *ast.StringNode:
		return key.Value, ""
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value, ""
	}
	if n.IsMergeKey() {
		return "", "the merge key << is not supported"
	}
	return "", "a key must be text, without an anchor, an alias, a tag or a question mark before it"
}

// json is the value as Go's encoding/json would decode it with UseNumber.
func (n *node) json() any {
	switch n.kind {
	case stringNode:
		return n.text
	case numberNode:
		return n.number
	case boolNode:
		return n.truth
	case listNode:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.json()
		}
		return list
	case mapNode:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key] = e.value.json()
		}
		return m
	case nullNode:
	}
	return nil
}
