#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# symbols.sh PREFIX: the shared library exports the functions of the public headers, all of them and nothing
# else; the static one defines no name that is not ours.
set -eu

prefix=$1
shared=$(find "$prefix" -name libholdfast.so)
static=$(find "$prefix" -name libholdfast.a)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A declaration is HF_API … name(, maybe over two lines.
cat "$prefix"/include/holdfast/*.h | tr '\n' ' ' |
    grep -o 'HF_API [^(;]*(' | grep -o 'hf_[a-z0-9_]*($' | tr -d '(' | sort > "$work/declared"
nm -D --defined-only "$shared" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | sort > "$work/exported"
if ! diff -u "$work/declared" "$work/exported" > "$work/diff"; then
    echo "the headers declare (-) and the library exports (+) different functions:"
    sed 1,2d "$work/diff"
    exit 1
fi
others=$(nm -D --defined-only "$shared" | awk '$2 != "T" && $3 !~ /^HOLDFAST_/ { print $3 }')
if [ -n "$others" ]; then
    echo "the shared library also exports: $others"
    exit 1
fi
others=$(nm -g --defined-only "$static" | awk 'NF == 3 && $3 !~ /^hfi?_|^__(odr_asan|asan)/ { print $3 }')
if [ -n "$others" ]; then
    echo "the static library defines names that are not hf_ or hfi_: $others"
    exit 1
fi
echo "$(wc -l < "$work/exported") functions"
