// Package api tests a running API against its document: requests generated from it, every command of the reference, and who
// may do what. Redis, API, worker and reaper are real; only the models are scripted.
package api
