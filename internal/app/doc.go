// Package app is the wiring: it builds API, worker and reaper out of the packages that know one thing each, starts them
// and stops them in order. `pawl dev` runs the very same three in one process.
//
// It is the one place, beside tests, that names implementations: the journal on Redis, the providers of models and the
// kinds of tools. It decides nothing about executions.
//
// # Stopping
//
// A program stops when its context ends. The API ends its streams and finishes its requests. The worker takes no more
// tasks, gives its steps the drain time, releases what is left, and leaves; so a deployment costs no execution more than
// a moment. A second signal ends the program at once: what it held runs out and is reclaimed.
package app
