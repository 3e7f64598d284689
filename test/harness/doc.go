// Package harness runs Pawl as its users do: the built programs as processes, a real redis-server, a real HTTP tool
// server. The acceptance tests of test/fault and test/main stand on it.
//
// Every process it starts is ended by its id when the test ends, and its log is printed when the test fails. Every wait
// has a deadline. It speaks to Pawl through its HTTP API and looks into Redis only to dump keys, to count tasks and to
// see when a claim is taken; it must not know how a node works.
package harness
