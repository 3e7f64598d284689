#!/usr/bin/env bash
# Runs a command with a container engine at DOCKER_HOST and docker compose on PATH.
#
#   scripts/engine.sh docker compose up --build --wait
#
# An engine that answers already is taken as it is. Without one a Debian, as root, installs its own docker.io and starts it in a
# scratch folder until the command has ended. A base image that cannot be pulled there is replaced by a stand-in, and a line says
# so: Debian from this machine's mirror, with its redis-server and this machine's Go, or a root with certificates and nothing else.
set -euo pipefail

project="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

cannot() {
	echo "engine: $1. Start an engine by yourself (docker info has to answer) and run this again." >&2
	exit 2
}

packages() {
	local missing=()
	command -v dockerd >/dev/null 2>&1 || missing+=(docker.io iptables)
	command -v debootstrap >/dev/null 2>&1 || missing+=(debootstrap)
	[ "${#missing[@]}" -gt 0 ] || return 0
	command -v apt-get >/dev/null 2>&1 || cannot "there is no engine, and only a Debian can install one here"
	echo "engine: installing ${missing[*]}"
	install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }
	install || { apt-get update -qq && install; }
}

# plugin puts `docker compose` where the client looks for it, built from scripts/compose/go.mod where there is none.
plugin() {
	! docker compose version >/dev/null 2>&1 || return 0
	local program version
	version="$(go list -C "$project/scripts/compose" -m -f '{{.Version}}' github.com/docker/compose/v2)"
	program="$project/bin/docker-compose-$version"
	if [ ! -x "$program" ]; then
		echo "engine: building docker compose $version"
		CGO_ENABLED=0 go build -C "$project/scripts/compose" -ldflags '-s -w' -o "$program" github.com/docker/compose/v2/cmd
	fi
	export DOCKER_CONFIG="$scratch/config"
	mkdir -p "$DOCKER_CONFIG/cli-plugins"
	ln -s "$program" "$DOCKER_CONFIG/cli-plugins/docker-compose"
}

start() {
	export DOCKER_HOST="unix://$scratch/engine.sock"
	dockerd -H "$DOCKER_HOST" --data-root "$scratch/data" --exec-root "$scratch/exec" --pidfile "$scratch/pid" >"$scratch/log" 2>&1 &
	engine=$!
	local tries
	for tries in {1..120}; do
		! docker info >/dev/null 2>&1 || return 0
		kill -0 "$engine" 2>/dev/null || break
		sleep 0.5
	done
	tail -n 20 "$scratch/log" >&2
	cannot "dockerd did not start within $((tries / 2)) s; the end of its log stands above"
}

stop() {
	if [ -n "${engine:-}" ]; then
		kill "$engine" 2>/dev/null || true
		wait "$engine" 2>/dev/null || true
	fi
	rm -rf "$scratch"
}

# debian fills $scratch/root once: what the stand-ins of golang and redis are made of.
debian() {
	[ ! -d "$scratch/root" ] || return 0
	local release
	release="$(. /etc/os-release && echo "$VERSION_CODENAME")"
	debootstrap --variant=minbase --include=ca-certificates,redis-server "$release" "$scratch/root" >"$scratch/debootstrap.log" ||
		{ tail -n 20 "$scratch/debootstrap.log" >&2 && cannot "debootstrap could not fetch $release"; }
	cp -L /etc/ssl/certs/ca-certificates.crt "$scratch/root/etc/ssl/certs/"
}

stand_in() {
	local image="$1" path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
	echo "engine: $image cannot be pulled: a stand-in takes its place"
	case "$image" in
	redis:*) # Redis's own image takes protected mode away, too: nobody reaches it but its network
		debian
		printf '#!/bin/sh\nexec /usr/bin/redis-server "$@" --protected-mode no\n' >"$scratch/root/usr/local/bin/redis-server"
		chmod +x "$scratch/root/usr/local/bin/redis-server"
		tar -C "$scratch/root" -c . | docker import -c 'WORKDIR /data' - "$image"
		;;
	golang:*)
		debian
		mkdir -p "$scratch/root/usr/local"
		cp -a "$(go env GOROOT)" "$scratch/root/usr/local/go"
		tar -C "$scratch/root" -c . | docker import \
			-c "ENV PATH=/usr/local/go/bin:$path GOPATH=/go GOTOOLCHAIN=local GOPROXY=$(go env GOPROXY)" - "$image"
		;;
	*static*:nonroot)
		mkdir -p "$scratch/static"/{etc/ssl/certs,home/nonroot,tmp}
		chmod 1777 "$scratch/static/tmp"
		cp -L /etc/ssl/certs/ca-certificates.crt "$scratch/static/etc/ssl/certs/"
		echo 'nonroot:x:65532:65532::/home/nonroot:/sbin/nologin' >"$scratch/static/etc/passwd"
		tar -C "$scratch/static" -c . | docker import -c 'USER 65532' -c 'WORKDIR /home/nonroot' -c "ENV PATH=$path" - "$image"
		;;
	*) cannot "there is no stand-in for $image" ;;
	esac
}

[ "$#" -gt 0 ] || { sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2 && exit 2; }
scratch="$(mktemp -d)"
trap stop EXIT
if ! docker info >/dev/null 2>&1; then
	[ "$(id -u)" -eq 0 ] || cannot "there is no engine, and only root can start one"
	packages
	start
fi
plugin
mapfile -t images < <(sed -nE 's/^FROM ([^ ]+).*/\1/p' "$project/Dockerfile" && sed -nE 's/^ +image: ([^ ]+:[^ ]+)$/\1/p' "$project/compose.yaml")
for image in "${images[@]}"; do
	docker image inspect "$image" >/dev/null 2>&1 || docker pull --quiet "$image" 2>/dev/null || stand_in "$image"
done
"$@"
