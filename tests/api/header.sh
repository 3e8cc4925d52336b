#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# header.sh LANGUAGE FLAGS: the public headers compile alone, without a warning and without any macro that
# the program must set, and their macros can be used. Languages: c, c++ (the C headers), hpp (those of C++).
set -eu

language=$1
flags=$2
case $language in
c) compiler=${CC:-cc} ;;
*) compiler=${CXX:-c++} ;;
esac
if ! command -v "$compiler" > /dev/null; then
    echo "skipped: there is no $compiler"
    exit 0
fi

# check HEADER USE LANGUAGE: twice, since guards can be wrong.
check()
{
    echo "$1"
    # shellcheck disable=SC2086 # flags are words
    printf '#include "holdfast/%s"\n#include "holdfast/%s"\n%s\n' "$1" "$1" "$2" |
        "$compiler" $flags -Wall -Wextra -Werror -Wundef -Wshadow -Wconversion \
            -I "$HF_TEST_SOURCE/include" -x "$3" -fsyntax-only -
}

case $language in
c)
    check holdfast.h '
        int use(hf_client *c, hf_hold **h);
        int use(hf_client *c, hf_hold **h)
        { return hf_acquire(c, "n", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 1000), h) +
                 hf_open("", HF_CLIENT(.op_timeout_ms = 5), &c) + HF_OFF; }' c
    check objects.h '
        int use(hf_client *c, struct hf_value v);
        int use(hf_client *c, struct hf_value v)
        { return hf_semaphore_acquire(c, "n", 1, HF_WAIT(.wait_ms = HF_TRY_ONCE)) +
                 hf_bucket_set(c, "n", v, HF_VALUE(.ttl_ms = 5)); }' c
    ;;
c++)
    check holdfast.h '
        int use(hf_client *c, hf_hold **h);
        int use(hf_client *c, hf_hold **h)
        { hf_acquire_options options{}; options.size = sizeof options; options.wait_ms = HF_TRY_ONCE;
          hf_client_options more{}; more.size = sizeof more;
          return hf_acquire(c, "n", &options, h) + hf_open("", &more, &c) + HF_OFF; }' c++
    check objects.h '
        int use(hf_client *c, hf_value v);
        int use(hf_client *c, hf_value v)
        { hf_wait_options options{}; options.size = sizeof options;
          hf_value_options more{}; more.size = sizeof more;
          return hf_semaphore_acquire(c, "n", 1, &options) + hf_bucket_set(c, "n", v, &more); }' c++
    ;;
hpp)
    for header in "$HF_TEST_SOURCE"/include/holdfast/*.hpp; do
        check "${header##*/}" '' c++
    done
    ;;
esac
