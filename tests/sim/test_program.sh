#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The simulator itself: the same seed is the same run, whoever looks and however many processes share a campaign;
# a run that fails is made smaller and can be run again; it says what is wrong with its arguments.
set -u

sim=$HF_TEST_BIN/holdfast-sim
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0

fail()
{
    echo "FAILED: $1"
    failed=1
}

hash_of()
{
    "$sim" "$@" | sed -n 's/^.* hash \([0-9a-f]\{16\}\)$/\1/p'
}

# Same seed, same hash; another seed, profile or store, another.
hashes=
for run in '1 calm redis' '1 calm library' '1 mixed redis' '1 hostile redis' '2 mixed redis' \
    '2 hostile library'; do
    read -r seed profile store <<< "$run"
    first=$(hash_of --seed "$seed" --profile "$profile" --store "$store")
    again=$(hash_of --seed "$seed" --profile "$profile" --store "$store" --trace)
    [ -n "$first" ] || fail "no hash of seed $run"
    [ "$first" = "$again" ] || fail "seed $run: hash $first, then $again"
    case $hashes in *"$first"*) fail "seed $run has the hash of another" ;; esac
    hashes="$hashes $first"
done

# What a run is, it says.
said=$("$sim" --seed 7 --profile calm --store library --threads 2)
case $said in
    'holdfast-sim --seed 7 --profile calm --store library --threads 2 at '*' simulated seconds, '*) ;;
    *) fail "a run that does not say what it is: $said" ;;
esac

# One process or three: the same campaign.
counts_of()
{
    "$sim" --seed 11 --seeds 9 --jobs "$1" | sed '/ a second and core$/d'
}
[ "$(counts_of 1)" = "$(counts_of 3)" ] || fail 'a campaign depends on the number of jobs'

# A run that fails is made smaller, kept, and fails again.
"$sim-mutants" --mutant release_once --profile mixed --seeds 20 --shrink --keep "$folder" > "$folder/log"
kept=$folder/release_once.seed
if [ -s "$kept" ]; then
    grep -q '^without [0-9]' "$kept" || fail 'nothing was left out of a run that fails'
    "$sim-mutants" --replay "$kept" --mutant release_once > "$folder/log" && fail 'a kept run is fine'
    grep -q '^FAILED repeated: ' "$folder/log" || fail 'a kept run fails in another way'
    "$sim" --replay "$kept" > /dev/null || fail 'a kept run fails without the bug'
else
    cat "$folder/log"
    fail 'no run was kept'
fi

# Too few operations, and states never met, are failures.
"$sim" --seeds 2 --least-ops 1000000 > /dev/null && fail 'too few operations are fine'
"$sim" --seeds 2 --coverage > /dev/null && fail 'a campaign that has seen little is fine'

# Usage.
for wrong in '--nonsense' '--seed x' '--seed' '--profile wild' '--store disk' '--without 9999' 'word' \
    '--mutant no_risk' '--mutant nonsense' '--replay /nowhere'; do
    # shellcheck disable=SC2086 # a list of words
    "$sim" $wrong > "$folder/log" 2>&1
    code=$?
    [ "$code" -eq 2 ] || fail "$wrong: exit code $code"
    [ "$(wc -l < "$folder/log")" -eq 1 ] || fail "$wrong: $(cat "$folder/log")"
done
"$sim" --help | grep -q -- --replay || fail '--help'
exit "$failed"
