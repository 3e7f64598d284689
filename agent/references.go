package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Reference is a place of an agent that takes a variable of the worker's environment.
type Reference struct {
	Name string // of the variable
	Path string // the key, as in agents.demo.tools[0].headers.Authorization
}

// References are the places of the definition that hold `${NAME}`, in the order of the file.
func (d *Definition) References() []Reference {
	var all []Reference
	note := func(path, text string) {
		for _, name := range referenced(text) {
			all = append(all, Reference{Name: name, Path: path})
		}
	}
	path := join("agents", d.Name)
	if d.Remote() {
		note(path+".endpoint.url", d.Endpoint.URL)
		if d.Endpoint.Auth != nil {
			note(path+".endpoint.auth.token", d.Endpoint.Auth.Token)
		}
		return all
	}
	noteModel(&d.Model, path+".model", note)
	for i := range d.Model.Fallback {
		noteModel(&d.Model.Fallback[i], fmt.Sprintf("%s.model.fallback[%d]", path, i), note)
	}
	for i := range d.Tools {
		tool, at := &d.Tools[i], fmt.Sprintf("%s.tools[%d]", path, i)
		note(at+".url", tool.URL)
		if tool.Probe != nil {
			note(at+".probe.url", tool.Probe.URL)
		}
		for _, key := range slices.Sorted(maps.Keys(tool.Headers)) {
			note(join(at+".headers", key), tool.Headers[key])
		}
		for _, key := range slices.Sorted(maps.Keys(tool.Env)) {
			note(join(at+".env", key), tool.Env[key])
		}
	}
	return all
}

func noteModel(model *Model, path string, note func(path, text string)) {
	note(path+".baseURL", model.BaseURL)
	note(path+".apiKey", model.APIKey)
}

// referenced are the variables that s refers to; none when a reference is malformed.
func referenced(s string) []string {
	var names []string
	if _, err := Resolve(s, func(name string) (string, bool) { names = append(names, name); return "", true }); err != nil {
		return nil
	}
	return slices.Compact(names)
}

// Description is the model in words, without secrets.
func (m *Model) Description() string {
	parts := []string{m.Provider}
	if m.Name != "" {
		parts = append(parts, m.Name)
	}
	if m.BaseURL != "" {
		parts = append(parts, "at "+m.BaseURL)
	}
	switch len(m.Turns) {
	case 0:
	case 1:
		parts = append(parts, "(1 turn)")
	default:
		parts = append(parts, fmt.Sprintf("(%d turns)", len(m.Turns)))
	}
	return strings.Join(parts, " ")
}
