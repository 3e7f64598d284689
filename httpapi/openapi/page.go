package openapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page/page.html
var pageText string

//go:embed page/style.css
var styleText []byte

// page is what the template shows.
type page struct {
	Title, Summary string
	Keyed          bool
	About          []paragraph
	Groups         []group
	Types          []typeEntry
}

// paragraph is text with pieces of code in it.
type paragraph []piece

type piece struct {
	Text string
	Code bool
}

type group struct {
	Name, Anchor string
	About        paragraph
	Calls        []call
}

type call struct {
	ID, Method, Path, Summary, Role string
	About                           []paragraph
	Parameters                      []row
	Body                            *typeRef
	BodyNeeded                      bool
	Example                         string
	Answers                         []answer
	Samples                         []string
}

// row is a parameter, a field or a header.
type row struct {
	Name, Where string
	Needed      bool
	Type        typeRef
	About       paragraph
}

// typeRef is how a type is written: words, with a link when it has an entry of its own.
type typeRef struct {
	Before, Name, Anchor, After string
}

type answer struct {
	Status  string
	About   []paragraph
	Media   []media
	Headers []row
}

type media struct {
	Name    string
	Type    typeRef
	Example string
}

type typeEntry struct {
	Name     string
	About    []paragraph
	Type     typeRef
	Fields   []row
	Choices  []typeRef
	Words    []string
	Examples []string
}

// render makes the page of the joined document. Keyed, its commands show a key where a call needs one.
func render(root *object, keyed bool) (html, style []byte, err error) {
	tmpl, err := template.New("page").Funcs(template.FuncMap{"lower": strings.ToLower}).Parse(pageText)
	if err != nil {
		return nil, nil, fmt.Errorf("openapi: the page: %w", err)
	}
	r := renderer{root: root, keyed: keyed}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, r.page()); err != nil {
		return nil, nil, fmt.Errorf("openapi: the page: %w", err)
	}
	return out.Bytes(), styleText, nil
}

// renderer reads the document for the page.
type renderer struct {
	root  *object
	keyed bool
}

func (r renderer) page() page {
	info := r.root.at("info")
	p := page{
		Title: info.text("title"), Summary: info.text("summary"), About: paragraphs(info.text("description")), Keyed: r.keyed,
	}
	for _, tag := range r.root.list("tags") {
		tag := tag.(*object)
		g := group{Name: tag.text("name"), Anchor: strings.ToLower(tag.text("name")), About: inline(tag.text("description"))}
		r.eachCall(func(path, method string, shared []any, operation *object) {
			if operation.list("tags")[0] == tag.text("name") {
				g.Calls = append(g.Calls, r.call(path, method, shared, operation))
			}
		})
		p.Groups = append(p.Groups, g)
	}
	schemas := r.root.at("components", "schemas")
	for _, name := range schemas.keys {
		p.Types = append(p.Types, r.typeEntry(name, schemas.at(name)))
	}
	return p
}

func (r renderer) eachCall(do func(path, method string, shared []any, operation *object)) {
	paths := r.root.at("paths")
	for _, path := range paths.keys {
		item := paths.at(path)
		for _, method := range item.keys {
			if operation, is := item.values[method].(*object); is {
				do(path, method, item.list("parameters"), operation)
			}
		}
	}
}

// deref follows a reference of the document.
func (r renderer) deref(value any) *object {
	o, is := value.(*object)
	if !is {
		return newObject()
	}
	if pointer := o.text("$ref"); pointer != "" {
		return r.deref(r.root.at(strings.Split(strings.TrimPrefix(pointer, "#/"), "/")...))
	}
	return o
}

func (r renderer) call(path, method string, shared []any, operation *object) call {
	c := call{
		ID: operation.text("operationId"), Method: strings.ToUpper(method), Path: path, Summary: operation.text("summary"),
		Role: operation.text("x-pawl-role"), About: paragraphs(operation.text("description")),
	}
	for _, parameter := range append(append([]any{}, shared...), operation.list("parameters")...) {
		parameter := r.deref(parameter)
		c.Parameters = append(c.Parameters, row{
			Name: parameter.text("name"), Where: parameter.text("in"), Needed: parameter.values["required"] == true,
			Type: typeOf(parameter.at("schema")), About: inline(parameter.text("description")),
		})
	}
	if body := operation.at("requestBody"); len(body.keys) > 0 {
		content := body.at("content", "application/json")
		t := typeOf(content.at("schema"))
		c.Body, c.BodyNeeded, c.Example = &t, body.values["required"] == true, pretty(content.values["example"])
	}
	responses := operation.at("responses")
	for _, status := range responses.keys {
		c.Answers = append(c.Answers, r.answer(status, r.deref(responses.values[status])))
	}
	for _, sample := range operation.list("x-codeSamples") {
		c.Samples = append(c.Samples, r.sample(operation, strings.TrimSpace(sample.(*object).text("source"))))
	}
	return c
}

// sample is a command as the page shows it. Calls take a key unless they say of themselves what they take.
func (r renderer) sample(operation *object, command string) string {
	_, own := operation.values["security"]
	takes := !own
	for _, scheme := range operation.list("security") {
		takes = takes || scheme.(*object).values["bearer"] != nil
	}
	if !takes || !r.keyed {
		return command
	}
	return strings.Replace(command, "curl ", `curl -H "Authorization: Bearer $PAWL_API_KEY" `, 1)
}

func (r renderer) answer(status string, response *object) answer {
	a := answer{Status: status, About: paragraphs(response.text("description"))}
	headers := response.at("headers")
	for _, name := range headers.keys {
		if name == "X-Request-Id" { // from here on those of every answer
			break
		}
		header := r.deref(headers.values[name])
		a.Headers = append(a.Headers, row{Name: name, Type: typeOf(header.at("schema")), About: inline(header.text("description"))})
	}
	content := response.at("content")
	for _, kind := range content.keys {
		one := content.at(kind)
		m := media{Name: kind, Type: typeOf(one.at("schema"))}
		if kind == "application/problem+json" {
			m.Type = typeRef{Name: "Problem", Anchor: "type-Problem"}
		}
		if item := one.at("x-itemSchema"); len(item.keys) > 0 {
			m.Type = typeOf(item)
			m.Type.Before = "messages whose data is " + m.Type.Before
			m.Example = strings.TrimSpace(one.text("example"))
		}
		a.Media = append(a.Media, m)
	}
	return a
}

func (r renderer) typeEntry(name string, schema *object) typeEntry {
	t := typeEntry{Name: name, About: paragraphs(schema.text("description")), Type: typeOf(schema)}
	needed := map[any]bool{}
	for _, field := range schema.list("required") {
		needed[field] = true
	}
	properties := schema.at("properties")
	for _, field := range properties.keys {
		inner := properties.at(field)
		t.Fields = append(t.Fields, row{Name: field, Needed: needed[field], Type: typeOf(inner), About: inline(inner.text("description"))})
	}
	for _, choice := range schema.list("oneOf") {
		t.Choices = append(t.Choices, typeOf(choice.(*object)))
	}
	for _, word := range schema.list("enum") {
		t.Words = append(t.Words, fmt.Sprint(word))
	}
	for _, example := range schema.list("examples") {
		t.Examples = append(t.Examples, pretty(example))
	}
	return t
}

// pretty is JSON on several lines.
func pretty(value any) string {
	if value == nil {
		return ""
	}
	text, err := plainJSON(value)
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if json.Indent(&out, text, "", "  ") != nil {
		return ""
	}
	return out.String()
}

// paragraphs parts a description at its empty lines.
func paragraphs(text string) []paragraph {
	var list []paragraph
	for part := range strings.SplitSeq(text, "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, inline(part))
		}
	}
	return list
}

// inline parts a text at its backticks.
func inline(text string) paragraph {
	var p paragraph
	for i, part := range strings.Split(text, "`") {
		if part != "" {
			p = append(p, piece{Text: part, Code: i%2 == 1})
		}
	}
	return p
}
