// Package streams puts real API processes under many event streams: a few hundred in `make test`, 5,000 in `make
// test/streams`, which is what SOAK=1 asks for.
package streams
