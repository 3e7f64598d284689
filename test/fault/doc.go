// Package fault holds the acceptance tests on real processes: the built programs with fault points, a real redis-server
// and a real HTTP tool server. It is run by `make test/fault` (build tag faultpoint); `make soak` adds the long runs.
//
// What each test proves: whatever process is killed, frozen or asked to stop, and whenever, an accepted execution reaches
// its end, its log has no event missing or doubled, and a tool is called as its recovery class allows.
package fault
