#!/usr/bin/env bash
# Installs the published MCP servers, model servers and A2A agents that test/peers talks to into bin/peers, in the versions of
# test/peers/package-lock.json. They need Node 20 or newer with npm; where it is missing, Debian and its kin get it through
# apt-get, as root or with sudo.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

oldest=20

node_fits() {
	local major
	command -v npm >/dev/null 2>&1 || return 1
	major="$(node --version 2>/dev/null | sed -nE 's/^v([0-9]+)\..*/\1/p')"
	[ -n "$major" ] && [ "$major" -ge "$oldest" ]
}

if ! node_fits && command -v apt-get >/dev/null 2>&1; then
	as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	echo "Installing for the tests: nodejs npm"
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm ||
		{ "${as_root[@]}" apt-get update &&
			"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends nodejs npm; }
fi
if ! node_fits; then
	echo "The peers are npm packages: install Node $oldest or newer with npm, and run this again" >&2
	exit 1
fi

scripts/npm-ci.sh test/peers bin/peers
