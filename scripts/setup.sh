#!/usr/bin/env bash
# Installs what the tests need beside Go: a redis-server of release 7 or newer, a C compiler for the race detector, and curl. On
# Debian and its kin through apt-get, as root or with sudo; elsewhere it says what to do.
set -euo pipefail

oldest=7

redis_fits() {
	local found
	found="$(redis-server --version 2>/dev/null | sed -nE 's/.* v=([0-9]+)\..*/\1/p')"
	[ -n "$found" ] && [ "$found" -ge "$oldest" ]
}

compiler_fits() { command -v "$(go env CC)" >/dev/null 2>&1; }

packages=()
redis_fits || packages+=(redis-server)
compiler_fits || packages+=(gcc libc6-dev)
command -v curl >/dev/null 2>&1 || packages+=(curl)
if [ "${#packages[@]}" -eq 0 ]; then
	exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
	cat >&2 <<-EOF
		The tests need redis-server $oldest or newer, a C compiler and curl on PATH. This machine lacks one of them and has no
		apt-get to install it with. Install it and run this again, for example: brew install redis (macOS),
		dnf install gcc valkey-compat-redis (Fedora), pacman -S gcc valkey (Arch), apk add build-base redis (Alpine).
	EOF
	exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "The tests need more packages: install them as root with apt-get install ${packages[*]}" >&2
		exit 1
	fi
	as_root=(sudo)
fi

# The package of Redis may start a server of its own; the tests start theirs on other ports, so that does no harm.
install() {
	"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
}

echo "Installing for the tests: ${packages[*]}"
if ! install; then
	"${as_root[@]}" apt-get update
	install
fi

if ! redis_fits; then
	echo "redis-server is there, but older than release $oldest: $(redis-server --version)" >&2
	exit 1
fi
