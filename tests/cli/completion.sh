#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Completion for bash says what it should; that for zsh and fish is at least well-formed, where they are.
set -u

PATH=${HF_TEST_COMMAND%/*}:$PATH
folder=$(mktemp -d)
export HOLDFAST_STORE=sqlite:$folder/store
failed=0

# shellcheck source=/dev/null
source "$HF_TEST_SOURCE/completions/holdfast.bash"

# expect WORDS... '=>' REPLY...: the last word is being completed.
expect()
{
    COMP_WORDS=()
    while [[ $1 != '=>' ]]; do
        COMP_WORDS+=("$1")
        shift
    done
    shift
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    COMPREPLY=()
    _holdfast 2> /dev/null
    if [[ ${COMPREPLY[*]} != "$*" ]]; then
        echo "${COMP_WORDS[*]}: expected '$*', got '${COMPREPLY[*]}'"
        failed=1
    fi
}

# shellcheck disable=SC2016 # for the command's shell
holdfast run job:alpha -- sh -c 'echo > "$0/held"; exec sleep 1000' "$folder" &
holder=$!
until [[ -e $folder/held ]]; do sleep 0.02; done

expect holdfast sh '=>' show
expect holdfast run --on-lost '' '=>' term kill ignore
expect holdfast run --on-lost = k '=>' kill
expect holdfast run --max '=>' --max-hold
expect holdfast show '' '=>' job:alpha
expect holdfast break jo '=>' job:alpha
expect holdfast run job : al '=>' alpha # words as readline breaks them
expect holdfast run --wait 5s '' '=>' job:alpha
expect holdfast show --store "sqlite:$folder/other" '' '=>'
expect holdfast run --fa '=>' --fair
expect holdfast run --and '' '=>' job:alpha
expect holdfast run x --and jo '=>' job:alpha
expect holdfast run x --a '=>' --and
expect holdfast once --fo '=>' --for
expect holdfast once --for 1h '' '=>' job:alpha
expect holdfast once --skip-code '' '=>' 0 75
expect holdfast la '=>' latch
expect holdfast latch '' '=>' set down wait show delete --help
expect holdfast latch wait --w '=>' --wait
expect holdfast sem ac '=>' acquire
expect holdfast sem available --j '=>' --json
expect holdfast permits r '=>' resize
expect holdfast permits show jo '=>' job:alpha
expect holdfast help br '=>' break
expect holdfast ls --n '=>' --names

kill "$holder"
wait "$holder"
rm -rf "$folder"
if command -v zsh > /dev/null; then
    zsh -n "$HF_TEST_SOURCE/completions/_holdfast" || failed=1
fi
if command -v fish > /dev/null; then
    fish -n "$HF_TEST_SOURCE/completions/holdfast.fish" || failed=1
fi
exit "$failed"
