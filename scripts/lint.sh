#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/lint.sh [STEP...]: everything that can be said about the sources without running them. All steps
# run, whatever fails; the last line counts. Steps: format compile tidy cppcheck shell man headers.
# Its build folders are build/lint and build/lint-release.
set -u

cd "$(dirname "$0")/.." || exit
jobs=$(nproc)

# Files of the tree as git sees it, those not yet added too: files PATTERN...
files()
{
    git ls-files --cached --others --exclude-standard --deduplicate -- "$@" | while IFS= read -r file; do
        [ ! -f "$file" ] || printf '%s\n' "$file"
    done
}

step_format()
{
    files '*.c' '*.h' '*.cc' '*.hpp' | xargs -d '\n' clang-format --dry-run -Werror
}

# By clang with asserts, and by the usual compiler without: what is used in asserts alone shows there.
step_compile()
{
    scripts/build.sh lint && scripts/build.sh lint-release
}

# Each file as its compile command says; what is included is looked at with it.
step_tidy()
{
    sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' build/lint/compile_commands.json | sort -u |
        xargs -d '\n' -n 1 -P "$jobs" clang-tidy --quiet -p build/lint 2>&1 |
        grep -v -e '^[0-9]* warnings\{0,1\} .*generated' -e '^Suppressed ' -e '^Use -header-filter'
    return "${PIPESTATUS[2]}"
}

# It knows the C library by itself, but must be shown the macros that go through lists and maps. Off are:
# autoVariables, since a call that waits lives on its thread's stack and is pointed to meanwhile; and what the
# compilers know better, uninitialised variables and pointers as integers.
step_cppcheck()
{
    local macros
    macros=$(sed -n 's/^UTHASH_INCLUDE_DIR:PATH=//p' build/lint/CMakeCache.txt)
    mkdir -p build/lint/macros
    ln -sf "$macros/uthash.h" "$macros/utlist.h" build/lint/macros/
    files 'src/*.c' | cppcheck --file-list=- --quiet -j "$jobs" --std=c11 --language=c \
        -D_GNU_SOURCE -D__GNUC__ -D__linux__ -Iinclude -Isrc -Ibuild/lint/generated \
        -Ibuild/lint/macros --enable=warning,performance,portability --inline-suppr \
        --error-exitcode=1 --suppress=missingIncludeSystem --suppress=unmatchedSuppression \
        --suppress=normalCheckLevelMaxBranches --suppress=autoVariables --suppress=uninitvar \
        --suppress=AssignmentAddressToInteger
}

step_shell()
{
    { files '*.sh' .ci/run; files | xargs -d '\n' grep -lE -m1 '^#! ?/.*(/|env )(ba)?sh' --; } | sort -u |
        xargs -d '\n' shellcheck --exclude=SC1091 || return 1
    files 'completions/*.bash' | xargs -d '\n' -r shellcheck --shell=bash
}

step_man()
{
    files 'man/*.[1-9]' | xargs -d '\n' -r mandoc -T lint -W warning
}

# The public headers on their own, as the strictest of users have them: twice, since guards can be wrong.
step_headers()
{
    local header language languages compiler failed=0
    for header in include/holdfast/*.h include/holdfast/*.hpp; do
        printf '#include "%s"\n#include "%s"\n' "$header" "$header" > build/lint/header.c
        languages=('c -std=c99' 'c -std=c11' 'c++ -std=c++17')
        if [[ $header == *.hpp ]]; then
            languages=('c++ -std=c++17' 'c++ -std=c++20' 'c++ -std=c++17 -fno-exceptions')
        fi
        for language in "${languages[@]}"; do
            for compiler in gcc clang; do
                # shellcheck disable=SC2086 # a list of words
                "$compiler" -x $language -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Wshadow \
                    -Werror -I. -Iinclude build/lint/header.c ||
                    { echo "$header: $compiler, $language"; failed=1; }
            done
        done
    done
    return "$failed"
}

steps=("$@")
[ $# -gt 0 ] || steps=(format compile tidy cppcheck shell man headers)
failed=()
mkdir -p build/lint
# Compile commands, what CMake found, and generated files are needed even when only one step is asked for.
{ cmake --preset lint && cmake --build --preset lint --target hf_redis_scripts; } > build/lint/prepare.log 2>&1 || {
    cat build/lint/prepare.log
    exit 1
}
for step in "${steps[@]}"; do
    if ! declare -F "step_$step" > /dev/null; then
        echo "lint: no step is called \"$step\"" >&2
        exit 2
    fi
    if "step_$step"; then
        echo "lint: $step: clean"
    else
        echo "lint: $step: see above"
        failed+=("$step")
    fi
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "lint: not clean: ${failed[*]}"
    exit 1
fi
