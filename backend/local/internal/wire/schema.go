package wire

import "encoding/json"

// StrictSchema reports whether schema is of the subset that providers enforce exactly: objects that name all their
// properties, require each of them and allow no other, and none of the keywords that only some of them know.
func StrictSchema(schema json.RawMessage) bool {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return false
	}
	return root["type"] == "object" && strict(root)
}

func strict(schema map[string]any) bool {
	for key, value := range schema {
		switch key {
		case "type", "title", "description", "enum", "const", "required", "additionalProperties", "$ref", "$schema":
		case "items":
			if !strictAny(value) {
				return false
			}
		case "properties", "$defs":
			if !strictEach(value) {
				return false
			}
		case "anyOf":
			list, ok := value.([]any)
			if !ok || !allStrict(list) {
				return false
			}
		default:
			return false
		}
	}
	if schema["type"] != "object" {
		return schema["properties"] == nil
	}
	return closed(schema)
}

// closed reports whether an object requires all its properties and allows no other.
func closed(schema map[string]any) bool {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	named := map[any]bool{}
	for _, name := range required {
		named[name] = true
	}
	for name := range properties {
		if !named[name] {
			return false
		}
	}
	return schema["additionalProperties"] == false && len(properties) > 0 && len(named) == len(properties)
}

func strictAny(value any) bool {
	schema, ok := value.(map[string]any)
	return ok && strict(schema)
}

func strictEach(value any) bool {
	schemas, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for _, schema := range schemas {
		if !strictAny(schema) {
			return false
		}
	}
	return true
}

func allStrict(list []any) bool {
	for _, schema := range list {
		if !strictAny(schema) {
			return false
		}
	}
	return true
}
