#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# examples.sh PREFIX WORK COMPILER: what is shown to people compiles and links with what is installed: the files
# in examples/, and the C programs in README.md (blocks with a main()).
set -eu

prefix=$1 work=$2 compiler=$3
rm -rf "$work"
mkdir -p "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH

for file in "$HF_TEST_SOURCE"/examples/*.c; do
    [ ! -e "$file" ] || cp "$file" "$work/"
done
if [ -e "$HF_TEST_SOURCE/README.md" ]; then
    awk -v work="$work" '
        /^```c$/ { n++; file = work "/readme_" n ".c"; next }
        /^```/ { file = "" }
        file { print > file }' "$HF_TEST_SOURCE/README.md"
fi

built=0
for file in "$work"/*.c; do
    grep -q '\<main(' "$file" || continue
    # shellcheck disable=SC2046 # lists of words
    "$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror ${HF_TEST_SANITIZE:+-fsanitize=$HF_TEST_SANITIZE} \
        $(pkg-config --cflags holdfast) "$file" -o "${file%.c}" $(pkg-config --libs holdfast)
    built=$((built + 1))
done
echo "$built programs"
[ "$built" -gt 0 ]
