#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# names.sh PREFIX: what documents name is in the headers, and holdfast(3) names every function.
set -eu

prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$HF_TEST_SOURCE"

words='h[fF]_[A-Za-z0-9_]*\|HF_[A-Z0-9_]*'
cat "$prefix"/include/holdfast/*.h | grep -o "\<\($words\)" | sort -u > "$work/declared"
failed=0
for document in README.md docs/redisson.md docs/stores/*.md man/holdfast.[37]; do
    # A family of names ends in an underscore: HF_ERR_.
    grep -o "\<\($words\)" "$document" | grep -v '_$' | sort -u > "$work/named"
    if [ -n "$(comm -13 "$work/declared" "$work/named")" ]; then
        echo "$document names what no header has:"
        comm -13 "$work/declared" "$work/named"
        failed=1
    fi
done

cat "$prefix"/include/holdfast/*.h | tr '\n' ' ' |
    grep -o 'HF_API [^(;]*(' | grep -o 'hf_[a-z0-9_]*($' | tr -d '(' | sort > "$work/functions"
sed -n 's/^\.Fn \(hf_[a-z0-9_]*\) ".*/\1/p' man/holdfast.3 | sort > "$work/shown"
if ! diff -u "$work/functions" "$work/shown" > "$work/diff"; then
    echo "the headers (-) and the synopsis of holdfast(3) (+) differ:"
    sed 1,2d "$work/diff" | grep '^[-+]'
    failed=1
fi
exit "$failed"
