//go:build tidy

// Package tidy is never built. It names one module, so that `go mod tidy` works.
//
// Asynqmon's old list of dependencies reaches a cloud.google.com/go that still holds compute/metadata, which is a module of its own by
// now; `go mod tidy` follows the tests of our dependencies as far as that package and refuses to choose between the two. A
// newer cloud.google.com/go has it no more, and go.mod keeps a module only while a package of it is named. (An exclude directive in
// go.mod would do the same, and `go install` of a version of Pawl would refuse to work.)
package tidy

import _ "cloud.google.com/go/civil"
