#!/usr/bin/env bash
# Installs what test/browser needs: a Chromium, and axe-core into bin/browser in the version of test/browser/package-lock.json.
# On Debian and its kin Chromium, its fonts and npm come through apt-get, as root or with sudo; elsewhere it says what to do.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=()
command -v chromium >/dev/null 2>&1 || packages+=(chromium fonts-dejavu-core)
command -v npm >/dev/null 2>&1 || packages+=(nodejs npm)

if [ "${#packages[@]}" -gt 0 ]; then
	if ! command -v apt-get >/dev/null 2>&1; then
		echo "The browser tests need chromium and npm on PATH: install them and run this again" >&2
		exit 1
	fi
	as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(sudo)
	install() {
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${packages[@]}"
	}
	echo "Installing for the tests: ${packages[*]}"
	install || { "${as_root[@]}" apt-get update && install; }
fi

scripts/npm-ci.sh test/browser bin/browser
