#!/usr/bin/env bash
# Installs the npm packages of the folder $1, in the versions of its package-lock.json, into $2, unless they are there.
set -euo pipefail

from="$1" into="$2"
mkdir -p "$into"
if cmp -s "$from/package-lock.json" "$into/.installed"; then
	exit 0
fi
cp "$from/package.json" "$from/package-lock.json" "$into/"
for try in 1 2 3; do
	if npm ci --prefix "$into" --prefer-offline --no-audit --no-fund --ignore-scripts; then
		cp "$from/package-lock.json" "$into/.installed"
		exit 0
	fi
	echo "npm ci did not succeed (try $try)" >&2
done
exit 1
