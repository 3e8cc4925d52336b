#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# examples.sh PREFIX WORK C_COMPILER CXX_COMPILER: what is shown to people compiles and links with what is
# installed, and runs on the embedded store, and on a server where there is one: the files in examples/, and the C
# programs in README.md (blocks with a main()). A program that names no store (hf_open(NULL, …)) is given one.
set -eu

prefix=$1 work=$2 cc=$3 cxx=$4
rm -rf "$work"
mkdir -p "$work"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export LD_LIBRARY_PATH

for file in "$HF_TEST_SOURCE"/examples/*.c "$HF_TEST_SOURCE"/examples/*.cc; do
    [ ! -e "$file" ] || cp "$file" "$work/"
done
if [ -e "$HF_TEST_SOURCE/README.md" ]; then
    awk -v work="$work" '
        /^```c$/ { n++; file = work "/readme_" n ".c"; next }
        /^```/ { file = "" }
        file { print > file }' "$HF_TEST_SOURCE/README.md"
fi

# Sockets have short names, and the folder goes with us.
stores=$(mktemp -d)
server=
cleanup()
{
    [ -z "$server" ] || kill "$server"
    rm -rf "$stores"
}
trap cleanup EXIT
uris="sqlite:$stores/store"
if command -v redis-server > /dev/null; then
    redis-server --port 0 --unixsocket "$stores/socket" --save '' --dir "$stores" > "$work/server.log" &
    server=$!
    uris="$uris redis+unix://$stores/socket"
    for _ in $(seq 200); do
        [ ! -S "$stores/socket" ] || break
        sleep 0.05
    done
fi

built=0
for file in "$work"/*.c "$work"/*.cc; do
    grep -q '\<main(' "$file" || continue
    program=${file%.c*}
    sed -i "s|hf_open(NULL, NULL|hf_open(\"sqlite:$stores/store\", NULL|" "$file"
    case $file in
    *.cc) compiler="$cxx -std=c++17" ;;
    *) compiler="$cc -std=c99" ;;
    esac
    # shellcheck disable=SC2046,SC2086 # lists of words
    $compiler -Wall -Wextra -Wpedantic -Werror ${HF_TEST_SANITIZE:+-fsanitize=$HF_TEST_SANITIZE} \
        $(pkg-config --cflags holdfast) "$file" -o "$program" $(pkg-config --libs holdfast)
    for uri in $uris; do
        "$program" "$uri" > "$program.out" 2>&1 || {
            echo "${program##*/} $uri: exit code $?"
            cat "$program.out"
            exit 1
        }
    done
    built=$((built + 1))
done
echo "$built programs"
[ "$built" -gt 0 ]
