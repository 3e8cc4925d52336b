#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh [HOLDFAST]: shows two contenders taking turns on the embedded store, who holds and who waits, and a
# holder that is killed while another waits. Each step is checked: a step that does not happen ends the demo
# with an error. HOLDFAST is the command, else the variable of that name, else what is on the PATH.
#
# It works in a folder of its own, and leaves no file and no process.
set -eu

holdfast=${1:-${HOLDFAST:-holdfast}}
command -v "$holdfast" > /dev/null || { echo "demo: '$holdfast' is not there; 'make build' makes it" >&2; exit 1; }

folder=$(mktemp -d)
HOLDFAST_STORE=sqlite:$folder/locks.db
export HOLDFAST_STORE
started=

cleanup()
{
    for pid in $started; do
        kill "$pid" 2> /dev/null || :
    done
    wait
    rm -rf "$folder"
}
trap cleanup EXIT
trap 'exit 1' HUP INT TERM

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
shown() { sed 's/^/    /'; }
failed()
{
    echo "demo: $*" >&2
    exit 1
}

# until_true SECONDS WHAT COMMAND...: looks twenty times a second.
until_true()
{
    tries=$(($1 * 20)) what=$2
    shift 2
    until "$@" > /dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || failed "this did not happen: $what"
        sleep 0.05
    done
}

listed() { "$holdfast" ls "$1" | grep -q "  $2\$"; }
held_for() { "$holdfast" show "$1" | grep -q "^label  *$2\$"; }

[ -t 1 ] || say() { printf '\n%s\n' "$*"; }

say "1. Two contenders, one lock: each wants it three times, and they take turns."
cat > "$folder/contender" << 'END'
#!/bin/sh
for turn in 1 2 3; do
    "$1" run demo:turns -- sh -c 'echo "$1 begins turn $2 (token $HOLDFAST_TOKEN)"; sleep 0.3; echo "$1 ends turn $2"' \
        contender "$2" "$turn" || exit
done
END
sh "$folder/contender" "$holdfast" Anna > "$folder/anna" & anna=$!
sh "$folder/contender" "$holdfast" Bert > "$folder/bert" & bert=$!
started="$started $anna $bert"
wait "$anna" || failed "Anna did not get her turns"
wait "$bert" || failed "Bert did not get his turns"
started=
# By token, which is the order in which the lock was granted.
cat "$folder/anna" "$folder/bert" | sed -n 's/.*token \([0-9]*\).*/\1 &/p' | sort -n | cut -d' ' -f2- | shown
[ "$(cat "$folder/anna" "$folder/bert" | grep -c begins)" = 6 ] || failed "there were not six turns"
tokens=$(cat "$folder/anna" "$folder/bert" | sed -n 's/.*token \([0-9]*\).*/\1/p' | sort -n | uniq | grep -c .)
[ "$tokens" = 6 ] || failed "two turns had the same token"

say "2. One holds, one waits: 'holdfast ls' and 'holdfast show' see both."
"$holdfast" run --label 'nightly settlement' demo:job -- sleep 60 & first=$!
started=$first
until_true 10 "the lock is held" held_for demo:job 'nightly settlement'
"$holdfast" run --label 'the next night' demo:job -- echo 'the waiter has the lock now' > "$folder/waiter" & second=$!
started="$started $second"
until_true 10 "somebody waits" listed demo:job 1
"$holdfast" ls | shown
"$holdfast" show demo:job | shown
echo
echo "    Trying once says who has it:"
code=0
"$holdfast" run -n demo:job -- true 2> "$folder/busy" || code=$?
shown < "$folder/busy"
[ "$code" = 75 ] || failed "the lock was not busy (exit code $code)"

say "3. The holder is killed with -9: its command ends with it, and the waiter goes on at once."
began=$(date +%s%N)
kill -9 "$first"
wait "$second" || failed "the waiter did not get the lock"
took=$((($(date +%s%N) - began) / 1000000))
wait "$first" 2> /dev/null || :
started=
shown < "$folder/waiter"
grep -q 'has the lock now' "$folder/waiter" || failed "the waiter did not run its command"
[ "$took" -lt 5000 ] || failed "the waiter went on only after $took ms"
echo "    after $took ms, though the lease had been for 30 s"
code=0
"$holdfast" show demo:job > /dev/null 2>&1 || code=$?
[ "$code" = 1 ] || failed "the lock is still held"

say "All of it happened."
