// Package linktest is the specification of link.RuntimeLink as a test suite. link.Service and client.Client pass it.
package linktest
