#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# consumer.sh PREFIX WORK SOURCE COMPILER shared|static pkgconfig|package [STANDARD]
# Builds the program SOURCE against the installation in PREFIX, the way a user would, runs it, and sees that
# it uses the library that was meant.
set -eu

prefix=$1 work=$2 source=$3 compiler=$4 linkage=$5 way=$6
sanitize=${HF_TEST_SANITIZE:+-fsanitize=$HF_TEST_SANITIZE}
case $source in
*.cc) language=CXX standard=${7:-17} std=c++${7:-17} ;;
*) language=C standard=99 std=c99 ;;
esac

# Where the distribution puts libraries: lib, lib64, lib/<machine>.
pc=$(find "$prefix" -name holdfast.pc)
libdir=$(dirname "$(dirname "$pc")")
rm -rf "$work"
mkdir -p "$work"

by_pkgconfig()
{
    export PKG_CONFIG_PATH="$libdir/pkgconfig"
    flags=$(pkg-config --cflags holdfast)
    if [ "$linkage" = static ]; then
        # The linker takes the shared library when both are there, unless the file is named.
        libs=$(pkg-config --static --libs holdfast | sed 's/-lholdfast/-l:libholdfast.a/')
    else
        libs=$(pkg-config --libs holdfast)
    fi
    # shellcheck disable=SC2086 # lists of words
    "$compiler" -std=$std -Wall -Wextra -Wpedantic -Werror $sanitize $flags "$source" \
        -o "$work/consumer" $libs
}

by_package()
{
    target=Holdfast::holdfast
    [ "$linkage" = shared ] || target=Holdfast::holdfast_static
    {
        cmake -S "$(dirname "$0")/package" -B "$work" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" \
            -DCMAKE_${language}_COMPILER="$compiler" -DCMAKE_${language}_FLAGS="$sanitize" \
            -DSOURCE="$source" -DSTANDARD="$standard" -DTARGET=$target -DCOMPONENT="$linkage" &&
            cmake --build "$work"
    } > "$work.log" 2>&1 || {
        cat "$work.log"
        return 1
    }
}

"by_$way"

needed=$(readelf -d "$work/consumer" | sed -n 's/.*NEEDED.*\[\(libholdfast.*\)\]/\1/p')
expected=
[ "$linkage" = static ] || expected=libholdfast.so.$HF_TEST_ABI
if [ "$needed" != "$expected" ]; then
    echo "the program needs \"$needed\" at run time, where \"$expected\" was expected"
    exit 1
fi
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT
LD_LIBRARY_PATH=$libdir "$work/consumer" "sqlite:$store/locks"
