#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# selftest.sh RULES FOLDER: purity.sh must catch what the sample objects in FOLDER do, and name it.
set -u

here=$(dirname "$0")
out=$(sh "$here/purity.sh" "$1" "$2" 2>&1)
status=$?
printf '%s\n' "$out"
failed=0
if [ "$status" -ne 1 ]; then
    echo "selftest: purity.sh returned $status, not 1"
    failed=1
fi
for expected in \
    "base/sample_base.c uses clock_gettime, which is not in the allow-list" \
    "base/sample_base.c uses getenv, which is not in the allow-list" \
    "base/sample_base.c uses hfi_sample_core of core: calls run downward only" \
    "cli/sample_cli.c uses hfi_sample_core of core: calls run downward only"; do
    case $out in
    *"$expected"*) ;;
    *) echo "selftest: not caught: $expected"; failed=1 ;;
    esac
done
# What is allowed is not complained about: core may use base, and anyone memset.
if [ "$(printf '%s\n' "$out" | grep -c '^purity: ')" -ne 4 ]; then
    echo "selftest: four lines were expected, no more"
    failed=1
fi
exit "$failed"
