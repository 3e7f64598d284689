// Package peers holds tests against published programs of others, which scripts/setup-peers.sh installs. They are built
// with the tag peers and run by make test/peers.
package peers
