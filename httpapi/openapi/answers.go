package openapi

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// anywhere are the problems of every call below /v1/.
func anywhere() []string {
	return []string{"unauthenticated", "forbidden", "not_acceptable", "overloaded", "internal", "unavailable"}
}

// answerer completes the answers of calls.
type answerer struct {
	headers    *object // those that some answers have
	everywhere *object // those that every answer has
	problems   *object
	problem    *object // the schema of a problem
	responses  *object // the answers of problems, by their names
}

// answer completes the answers of every call: headers that are named become whole, those of every answer are added, and
// x-problems becomes an answer for each status.
func (a *answerer) answer(paths *object) error {
	for _, path := range paths.keys {
		item := paths.at(path)
		for _, method := range []string{"get", "head", "post", "delete"} {
			if _, has := item.values[method]; !has {
				continue
			}
			operation := item.at(method)
			if err := a.operation(path, method, operation); err != nil {
				return fmt.Errorf("openapi: %s %s: %w", method, path, err)
			}
		}
	}
	return nil
}

func (a *answerer) operation(path, method string, operation *object) error {
	responses := newObject()
	given := operation.at("responses") // two calls may share them
	for _, status := range given.keys {
		response := given.at(status).copied()
		headers, err := a.complete(response.at("headers"))
		if err != nil {
			return err
		}
		response.take("headers")
		content := response.take("content")
		response.set("headers", headers)
		if content != nil {
			response.set("content", content)
		}
		responses.set(status, response)
	}
	codes := operation.list("x-problems")
	operation.take("x-problems")
	names := make([]string, 0, len(codes))
	for _, code := range codes {
		names = append(names, fmt.Sprint(code))
	}
	if strings.HasPrefix(path, "/v1/") {
		names = append(names, anywhere()...)
	}
	if err := a.refusals(responses, names, method == "head"); err != nil {
		return err
	}
	operation.set("responses", responses)
	return nil
}

// complete gives an answer the headers that it names, and those of every answer. One that only answers of one media type
// have is not required.
func (a *answerer) complete(named *object) (*object, error) {
	headers := newObject()
	for _, name := range named.keys {
		if _, known := a.headers.values[name]; !known {
			return nil, fmt.Errorf("header %s is not described", name)
		}
		if only := named.at(name).text("only"); only != "" {
			own := a.headers.at(name).copied()
			own.take("required")
			own.set("x-only", only)
			headers.set(name, own)
			continue
		}
		headers.set(name, reference("headers", name))
	}
	for _, name := range a.everywhere.keys {
		headers.set(name, reference("headers", name))
	}
	return headers, nil
}

// refusals adds an answer for each status of the problems.
func (a *answerer) refusals(responses *object, codes []string, empty bool) error {
	byStatus := map[string][]string{}
	for _, code := range codes {
		problem := a.problems.at(code)
		if len(problem.keys) == 0 {
			return fmt.Errorf("problem %s is not described", code)
		}
		status := fmt.Sprint(problem.values["status"])
		byStatus[status] = append(byStatus[status], code)
	}
	for _, status := range slices.Sorted(maps.Keys(byStatus)) {
		codes := byStatus[status]
		name := "Problem." + status + "." + strings.Join(codes, ".")
		if empty {
			name += ".head"
		}
		if _, made := a.responses.values[name]; !made {
			response, err := a.refusal(status, codes, empty)
			if err != nil {
				return err
			}
			a.responses.set(name, response)
		}
		responses.set(status, reference("responses", name))
	}
	return nil
}

// refusal is the answer of one status.
func (a *answerer) refusal(status string, codes []string, empty bool) (*object, error) {
	number, err := strconv.Atoi(status)
	if err != nil {
		return nil, err
	}
	var named []string
	switch status {
	case "401":
		named = []string{"WWW-Authenticate"}
	case "429", "503":
		named = []string{"Retry-After"}
	}
	wanted := newObject()
	for _, name := range named {
		wanted.set(name, newObject())
	}
	headers, err := a.complete(wanted)
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, len(codes))
	examples := newObject()
	enum := make([]any, 0, len(codes))
	for _, code := range codes {
		problem := a.problems.at(code)
		texts = append(texts, "`"+code+"`: "+problem.text("when")+".")
		value := newObject("type", "about:blank", "title", problem.text("title"), "status", number, "code", code)
		for _, key := range problem.at("example").keys {
			value.set(key, problem.at("example").values[key])
		}
		examples.set(code, newObject("value", value))
		enum = append(enum, code)
	}
	response := newObject("description", strings.Join(texts, "\n\n"), "headers", headers)
	if !empty {
		response.set("content", newObject("application/problem+json",
			newObject("schema", a.narrowed(number, enum), "examples", examples)))
	}
	return response, nil
}

// narrowed is the schema of a problem of this status and these codes.
func (a *answerer) narrowed(status int, codes []any) *object {
	schema, properties := a.problem.copied(), a.problem.at("properties").copied()
	properties.set("status", newObject("const", status))
	properties.set("code", newObject("type", "string", "enum", codes))
	schema.set("properties", properties)
	return schema
}

func reference(kind, name string) *object {
	return newObject("$ref", "#/components/"+kind+"/"+name)
}
