#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# scripts/test.sh PRESET [CTEST OPTION...]: builds build/PRESET and runs its tests, twice as many at a time as there
# are processors: most of their time they wait. Counts are left in build/PRESET/ctest.xml.
set -eu

cd "$(dirname "$0")/.."
preset=$1
shift
scripts/build.sh "$preset"

run=
# The thread sanitizer of some compilers cannot live with as much address randomisation as some kernels do.
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2> /dev/null; then
    run="setarch $(uname -m) -R"
fi
rm -f "build/$preset/ctest.xml"
$run ctest --preset "$preset" -j "$(($(nproc) * 2))" --output-junit ctest.xml "$@"
