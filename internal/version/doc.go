// Package version says which build a program is: the module's version and what the Go tool recorded of its source tree.
// It reads only what is compiled in and must not know any other package.
package version
