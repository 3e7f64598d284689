#!/usr/bin/env bash
# Fetches servers that speak Redis's protocol from the releases of Debian, each into a folder of its own under bin/stores, with the
# libraries of its release: nothing is installed. What it leaves is bin/stores/<name>/redis-server, a small program that starts the
# server under its release's own loader, so that it runs on a Debian that is older.
#
#   scripts/stores.sh                   all of them
#   scripts/stores.sh redis-trixie …    those that are named
#   scripts/stores.sh --names           fetches nothing and prints their names
#
# The mirror is the one that this machine's own apt uses, and what comes from it is checked by the keys of this machine. What is there
# already stays; remove its folder to fetch it again. Exit 2: this machine cannot, and the message says what to do instead.
set -euo pipefail

# <name> <release> <packages>. The names say where it comes from; which version that is, the servers say.
known="redis-bookworm bookworm redis-server redis-tools
redis-trixie trixie redis-server redis-tools
valkey-trixie trixie valkey-server valkey-tools
valkey-forky forky valkey-server valkey-tools"

stores="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/stores"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

cannot() {
	cat >&2 <<-MESSAGE
		stores: $1.
		Only a Debian fetches servers by itself. Elsewhere install them as you like, and name each: make test/stores STORES="/path/to/redis-server /path/to/valkey-server"
	MESSAGE
	exit 2
}

# mirror prints the address from which this machine takes Debian itself: not its security updates, nor anything else.
mirror() {
	# shellcheck disable=SC2016 # apt fills these in
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 2>/dev/null |
		awk '$1 ~ /\/debian\/?$/ && $2 !~ /-/ { print $1; exit }'
}

# configure gives the release an apt of its own: its own sources, lists and cache, and no package counts as installed.
configure() {
	local apt="$1" release="$2" from="$3" signed=""
	mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial" "$apt/archives"
	: >"$apt/status"
	[ -e "$keyring" ] && signed=" signed-by=$keyring"
	echo "deb [target=Packages$signed] $from $release main" >"$apt/sources.list"
	cat >"$apt/apt.conf" <<-CONF
		Dir::Etc::SourceList "$apt/sources.list";
		Dir::Etc::SourceParts "/dev/null";
		Dir::Etc::Preferences "/dev/null";
		Dir::Etc::PreferencesParts "/dev/null";
		Dir::State "$apt/state";
		Dir::State::status "$apt/status";
		Dir::Cache "$apt/cache";
		APT::Install-Recommends "false";
		APT::Sandbox::User "$(id -un)";
		Acquire::Retries "3";
	CONF
}

# wanted prints which of the packages that these need hold programs or libraries, as name=version.
wanted() {
	local apt="$1"
	shift
	APT_CONFIG="$apt/apt.conf" apt-get --simulate install "$@" |
		sed -nE 's/^Inst ([^ ]+) \(([^ ]+) .*/\1=\2/p' | grep -E '^(lib|zlib|redis-|valkey-)'
}

# wrapper writes the program that starts the server of the folder.
wrapper() {
	local dir="$1" program="$2" loader libraries
	loader="$(cd "$dir" && find root -name 'ld-linux*.so.*' -print -quit)"
	libraries="$(cd "$dir" && find root -name 'lib*.so.*' ! -path '*/share/*' -printf '$here/%h\n' | sort -u | paste -sd:)"
	cat >"$dir/redis-server" <<-WRAPPER
		#!/bin/sh
		here="\${0%/*}"
		exec "\$here/$loader" --library-path "$libraries" "\$here/root/usr/bin/$program" "\$@"
	WRAPPER
	chmod +x "$dir/redis-server"
}

version_of() { "$stores/$1/redis-server" --version 2>&1; }

fetch() {
	local name="$1" release="$2" from="$3" apt="$stores/.apt/$2" new="$stores/.new-$1-$$"
	shift 3
	echo "stores: fetching $name from $from, release $release"
	configure "$apt" "$release" "$from"
	if ! APT_CONFIG="$apt/apt.conf" apt-get --quiet=2 update; then
		echo "stores: apt cannot read release $release at $from (its messages stand above): is the network there, and does the mirror have the release?" >&2
		return 1
	fi
	local packages
	if ! packages="$(wanted "$apt" "$@")"; then
		echo "stores: release $release at $from does not have $*: take its line out of scripts/stores.sh, or name another release there" >&2
		return 1
	fi
	rm -rf "$new"
	mkdir -p "$new/root" "$new/archives"
	# shellcheck disable=SC2086 # one word a package
	(cd "$new/archives" && APT_CONFIG="$apt/apt.conf" apt-get --quiet=2 download $packages)
	find "$new/archives" -name '*.deb' -exec dpkg -x {} "$new/root" \;
	wrapper "$new" "$1"
	rm -rf "$new/archives" "${stores:?}/$name"
	mv "$new" "$stores/$name"
	if ! version_of "$name"; then
		echo "stores: $name was fetched and does not start; remove $stores/$name and try again" >&2
		return 1
	fi
}

if [ "${1:-}" = --names ]; then
	cut -d' ' -f1 <<<"$known"
	exit 0
fi

names=("$@")
[ "${#names[@]}" -gt 0 ] || mapfile -t names < <(cut -d' ' -f1 <<<"$known")
for name in "${names[@]}"; do
	if ! grep -q "^$name " <<<"$known"; then
		echo "stores: $name is none of $(cut -d' ' -f1 <<<"$known" | paste -sd' ')" >&2
		exit 1
	fi
done
for program in apt-get dpkg awk; do
	command -v "$program" >/dev/null 2>&1 || cannot "this machine has no $program"
done

mkdir -p "$stores"
trap 'rm -rf "$stores/.apt" "$stores"/.new-*-$$' EXIT
for name in "${names[@]}"; do
	line="$(grep "^$name " <<<"$known")"
	if [ -x "$stores/$name/redis-server" ] && version_of "$name" >/dev/null; then
		echo "stores: $name is there: $(version_of "$name")"
		continue
	fi
	from="$(mirror)"
	[ -n "$from" ] || cannot "this machine's apt has no mirror of Debian"
	read -r -a fields <<<"$line"
	fetch "$name" "${fields[1]}" "$from" "${fields[@]:2}"
done
