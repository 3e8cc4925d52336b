#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# header.sh LANGUAGE FLAGS: the public header compiles alone, without a warning and without any macro that
# the program must set, and its macros can be used.
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

if [ "$language" = c ]; then
    use='int use(hf_client *c, hf_hold **h);
         int use(hf_client *c, hf_hold **h)
         { return hf_acquire(c, "n", HF_ACQUIRE(.wait_ms = HF_TRY_ONCE, .ttl_ms = 1000), h) +
                  hf_open("", HF_CLIENT(.op_timeout_ms = 5), &c) + HF_OFF; }'
else
    use='int use(hf_client *c, hf_hold **h);
         int use(hf_client *c, hf_hold **h)
         { hf_acquire_options options{}; options.size = sizeof options; options.wait_ms = HF_TRY_ONCE;
           hf_client_options more{}; more.size = sizeof more;
           return hf_acquire(c, "n", &options, h) + hf_open("", &more, &c) + HF_OFF; }'
fi
# shellcheck disable=SC2086 # flags are words
printf '#include "holdfast/holdfast.h"\n#include "holdfast/holdfast.h"\n%s\n' "$use" |
    "$compiler" $flags -Wall -Wextra -Werror -Wundef -Wshadow -Wconversion \
        -I "$HF_TEST_SOURCE/include" -x "$language" -fsyntax-only -
