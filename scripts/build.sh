#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts/build.sh PRESET [CMAKE OPTION...]: configures and builds build/PRESET.
set -eu

cd "$(dirname "$0")/.."

# "sudo make install" must leave nothing of root's in the folder of the one who goes on building there.
if [ "$(id -u)" -eq 0 ] && [ "${SUDO_UID:-0}" -ne 0 ] && [ "$(stat -c %u .)" -eq "$SUDO_UID" ]; then
    exec runuser -u "$(id -nu "$SUDO_UID")" -- scripts/build.sh "$@"
fi

preset=$1
shift
log=build/$preset/configure.log
mkdir -p "build/$preset"
# What CMake found is of interest only when it fails.
cmake --preset "$preset" "$@" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
grep -A 8 'CMake Warning' "$log" >&2 || true
cmake --build --preset "$preset"
