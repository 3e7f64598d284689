package agent

import (
	_ "embed"
	"slices"
)

//go:embed agents.schema.json
var fileSchema []byte

// FileSchema is the JSON Schema (draft 2020-12) of agent files, for editors. It refuses no file that Parse accepts, and
// every unknown key. What cannot be said in it, such as names that are there twice, only Parse finds.
func FileSchema() []byte { return slices.Clone(fileSchema) }
