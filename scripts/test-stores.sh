#!/usr/bin/env bash
# Runs the suites that stand on Redis against several servers, one after the other, and prints which passed on which. It ends with 1 when
# one failed; what the tests said is in bin/stores/logs.
#
#   scripts/test-stores.sh                                    every server that scripts/stores.sh fetches
#   scripts/test-stores.sh redis-trixie /opt/valkey-server    these: what it fetches by name, what you have by path
#
# SUITES names some of the suites, for example SUITES="journal fault"; TEST_FLAGS goes to go test.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
logs="$PWD/bin/stores/logs"

all="connection journal queue vault main fault"

# arguments prints what go test runs for the suite.
arguments() {
	case "$1" in
	connection) echo "./internal/redisconn ./internal/redisserver ./internal/redistest" ;;
	journal) echo "./journal/redisjournal" ;;       # conformance, lost replies, forgotten scripts, a full memory, a Cluster
	queue) echo "./queue" ;;                        # Asynq and the wake-ups, on a Cluster too
	vault) echo "./delegation" ;;                   # the leases of delegations
	main) echo "./test/main" ;;                     # the built programs, as people use them
	fault) echo "-tags faultpoint -run ARedis|AFailover|Trust ./test/fault" ;; # Redis killed, hung, replaced by its replica
	*)
		echo "test-stores: $1 is none of the suites: $all" >&2
		exit 1
		;;
	esac
}

title() { "$1" --version | sed -nE 's/^([A-Za-z]+).* v=([^ ]+).*/\1 \2/p'; }

# run writes the suite's cell of the table.
run() {
	local program="$1" suite="$2" log="$3" began=$SECONDS words verdict=ok
	read -r -a words <<<"$(arguments "$suite")"
	# shellcheck disable=SC2086 # flags are words
	PAWL_TEST_REDIS_SERVER="$program" go test -p 1 -count 1 -timeout 20m ${TEST_FLAGS:-} "${words[@]}" >"$log" 2>&1 || verdict=FAILED
	echo "$verdict, $((SECONDS - began)) s"
}

read -r -a suites <<<"${SUITES:-$all}"
for suite in "${suites[@]}"; do arguments "$suite" >/dev/null; done

if [ "$#" -eq 0 ]; then
	scripts/stores.sh
	set -- $(scripts/stores.sh --names)
fi
for store in "$@"; do
	[[ $store == */* ]] || [ -x "bin/stores/$store/redis-server" ] || scripts/stores.sh "$store"
done

mkdir -p "$logs"
echo "test-stores: building"
for suite in "${suites[@]}"; do # so that the first server's seconds are those of the tests
	read -r -a words <<<"$(arguments "$suite")"
	go test -c -o "$logs/built/" "${words[@]}"
done
rm -rf "$logs/built"
table="| server |$(printf ' %s |' "${suites[@]}")"$'\n'"|---|$(printf -- '---|%.0s' "${suites[@]}")"
red=0
for store in "$@"; do
	program="$PWD/bin/stores/$store/redis-server"
	if [[ $store == */* ]]; then # not what a link points to: by its name the program knows that it is to be the server
		program="$(cd "$(dirname "$store")" && pwd)/$(basename "$store")"
	fi
	name="$(title "$program")"
	[ -n "$name" ] || { echo "test-stores: $program does not say which server it is: $program --version" >&2; exit 1; }
	row="| $name (\`$store\`) |"
	for suite in "${suites[@]}"; do
		log="$logs/${store//\//_}-$suite.log"
		cell="$(run "$program" "$suite" "$log")"
		echo "$name: $suite: $cell"
		if [[ $cell == FAILED* ]]; then
			red=1
			grep -E '^\s*--- FAIL|^FAIL|^panic|_test.go:[0-9]+:' "$log" | head -20 || true
			echo "  all of it: $log"
		fi
		row+=" $cell |"
	done
	table+=$'\n'"$row"
done
printf '\n%s\n' "$table"
exit "$red"
