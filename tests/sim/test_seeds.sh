#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs that once failed are fine; and with the bug that each of them showed, put back, they fail again, so they
# still are what they were kept for. When a change of the simulator makes one another run, find it anew:
#
#   holdfast-sim-mutants --mutant BUG --seeds 600 --jobs 2 --shrink --keep tests/sim/seeds
set -u

sim=$HF_TEST_BIN/holdfast-sim
failed=0

fail()
{
    echo "$1: $2"
    failed=1
}

for seed in "$HF_TEST_SOURCE"/tests/sim/seeds/*.seed; do
    name=${seed##*/}
    "$sim" --replay "$seed" || fail "$name" "fails"
    bug=$(sed -n 's/^# bug //p' "$seed")
    if [ -n "$bug" ]; then
        invariant=$(sed -n '1s/^# \([a-z ]*\):.*$/\1/p' "$seed")
        "$sim-mutants" --replay "$seed" --mutant "$bug" | grep "^FAILED $invariant:" ||
            fail "$name" "no longer shows the bug $bug; see the head of $0"
    fi
done
exit "$failed"
