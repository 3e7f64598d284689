// Package agent holds agent definitions: what a YAML file declares, its checks with file, line and key, its content hash,
// and the Catalog of the agents a program knows.
//
// A definition is data. The package must not know providers' clients, the store or the loop. Definitions are stored once
// by hash with `${NAME}` references unresolved, so that no secret reaches the store; running executions never change
// definition.
package agent
