#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# setup.sh BUILD PREFIX: installs the build into a new, empty prefix.
set -eu

rm -rf "$2"
cmake --install "$1" --prefix "$2"
