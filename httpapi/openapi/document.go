package openapi

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"

	"github.com/goccy/go-yaml"
)

//go:embed spec
var spec embed.FS

// Document is the API's document and its reference page. It is never changed.
type Document struct {
	JSON  File // the document
	Page  File // the reference, which asks for Style under docs/style.css
	Style File
	// KeyedPage is Page with commands that show a key, for installations that have keys.
	KeyedPage File
}

// File is what is served under a path. ETag is the quoted SHA-256 of Content.
type File struct {
	Type    string // its media type
	Content []byte
	ETag    string
}

func newFile(mediaType string, content []byte) File {
	sum := sha256.Sum256(content)
	return File{Type: mediaType, Content: content, ETag: `"` + hex.EncodeToString(sum[:]) + `"`}
}

// Load joins the document and makes the page of it. An error is a mistake in the files under spec/.
func Load() (*Document, error) {
	root, err := join(spec)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(root)
	if err != nil {
		return nil, fmt.Errorf("openapi: encode: %w", err)
	}
	page, style, err := render(root, false)
	if err != nil {
		return nil, err
	}
	keyed, _, err := render(root, true)
	if err != nil {
		return nil, err
	}
	return &Document{
		JSON: newFile("application/json", text),
		Page: newFile("text/html; charset=utf-8", page), KeyedPage: newFile("text/html; charset=utf-8", keyed),
		Style: newFile("text/css; charset=utf-8", style),
	}, nil
}

// join reads the files and puts together what they say.
func join(files fs.FS) (*object, error) {
	root, err := read(files, "spec/root.yaml")
	if err != nil {
		return nil, err
	}
	answers, err := read(files, "spec/answers.yaml")
	if err != nil {
		return nil, err
	}
	paths, err := all(files, "spec/calls")
	if err != nil {
		return nil, err
	}
	types, err := all(files, "spec/types")
	if err != nil {
		return nil, err
	}
	components := root.at("components").copied()
	components.set("schemas", types)
	components.set("parameters", answers.at("parameters"))
	a := &answerer{
		headers: answers.at("headers"), everywhere: answers.at("everywhere"), problems: answers.at("problems"),
		problem: types.at("Problem"), responses: newObject(),
	}
	if err := a.answer(paths); err != nil {
		return nil, err
	}
	headers := a.headers.copied()
	for _, name := range a.everywhere.keys {
		headers.set(name, a.everywhere.values[name])
	}
	components.set("headers", headers)
	components.set("responses", a.responses)
	root.take("components")
	root.set("paths", paths)
	root.set("components", components)
	return root, nil
}

// all is what the files of a folder say, in the order of their names.
func all(files fs.FS, folder string) (*object, error) {
	entries, err := fs.ReadDir(files, folder)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	whole := newObject()
	for _, entry := range entries {
		part, err := read(files, path.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		for _, key := range part.keys {
			if _, there := whole.values[key]; there {
				return nil, fmt.Errorf("openapi: %s: %s is there twice", entry.Name(), key)
			}
			whole.set(key, part.values[key])
		}
	}
	return whole, nil
}

func read(files fs.FS, name string) (*object, error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, fmt.Errorf("openapi: %w", err)
	}
	var value any
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.UseOrderedMap()).Decode(&value); err != nil {
		return nil, fmt.Errorf("openapi: %s: %w", name, err)
	}
	o, is := ordered(value).(*object)
	if !is {
		return nil, fmt.Errorf("openapi: %s: want a mapping", name)
	}
	return o, nil
}
