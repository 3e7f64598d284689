#!/usr/bin/env bash
# Installs the published MCP and model servers that test/peers talks to into bin/peers. It needs npm and Node 20 or newer.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(
	"@modelcontextprotocol/server-everything@2026.8.31"
	"@modelcontextprotocol/server-filesystem@2026.8.31"
	"@copilotkit/aimock@1.43.0"
	"@dwmkerr/mock-llm@0.1.29"
)

if ! command -v npm >/dev/null 2>&1 || ! command -v node >/dev/null 2>&1; then
	echo "The peers are npm packages: install Node 20 or newer with npm, and run this again" >&2
	exit 1
fi
major="$(node --version | sed -nE 's/^v([0-9]+)\..*/\1/p')"
if [ -z "$major" ] || [ "$major" -lt 20 ]; then
	echo "The peers need Node 20 or newer; this is $(node --version)" >&2
	exit 1
fi

mkdir -p bin/peers
if [ "$(cat bin/peers/.installed 2>/dev/null)" = "${packages[*]}" ]; then
	exit 0
fi
npm install --prefix bin/peers --no-audit --no-fund --no-save --ignore-scripts "${packages[@]}"
printf '%s' "${packages[*]}" >bin/peers/.installed
