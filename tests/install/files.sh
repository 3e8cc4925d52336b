#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# files.sh PREFIX VERSION: what the source tree has for people is in its standard place, and the installed
# command runs, from a prefix that the system does not know.
set -eu

prefix=$1 version=$2
failed=0

expect()
{
    if [ ! -s "$prefix/$1" ]; then
        echo "not installed, or empty: $1"
        failed=1
    fi
}

for header in "$HF_TEST_SOURCE"/include/holdfast/*; do
    expect "include/holdfast/${header##*/}"
done
for page in "$HF_TEST_SOURCE"/man/*.[137]; do
    [ ! -e "$page" ] || expect "share/man/man${page##*.}/${page##*/}"
done
expect share/doc/holdfast/LICENSE
expect share/doc/holdfast/README.md
expect share/bash-completion/completions/holdfast
expect share/zsh/site-functions/_holdfast
expect share/fish/vendor_completions.d/holdfast.fish

if ! said=$("$prefix/bin/holdfast" version) || [ "${said#*"$version"}" = "$said" ]; then
    echo "holdfast version did not say $version: $said"
    failed=1
fi
# What was installed does not lead back to where it was built.
if grep -rlF -e "$HF_TEST_SOURCE/include" -e "$HF_TEST_SOURCE/src" "$prefix" \
    --include='*.cmake' --include='*.pc'; then
    echo "these name the source tree"
    failed=1
fi
exit "$failed"
