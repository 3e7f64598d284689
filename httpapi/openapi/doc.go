// Package openapi is the document of Pawl's HTTP API, OpenAPI 3.1, and the reference page made of it.
//
// The document is written by hand under spec/, one subject per file, and joined when it is first asked for. Joining adds
// what would be repeated otherwise: the headers that every answer has, and for each call the answers of the problems that it
// names. Tests hold the server, its tests and this document against one another, so none of them can change alone.
//
// The package must not know the server: it gives bytes.
package openapi
