// Package telemetry measures: it is told by the parts of a program what they do, and serves that to Prometheus. What is true of
// the whole installation is read from Redis at each scrape, at a cost that does not depend on how many executions there are.
package telemetry
