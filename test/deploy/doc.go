// Package deploy tests what is shipped to run Pawl with: compose.yaml, the Kubernetes manifests, the systemd units and the
// static binaries. It is a module of its own, so that what it decodes with is no dependency of Pawl.
package deploy
