#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs all tests under AddressSanitizer and UBSan, in an empty build folder.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p tree && (cd "$src" && git ls-files -z | xargs -0 tar cf - --exclude=data/*.gguf) | tar xf - -C tree
cp "$src"/data/*.gguf tree/data/
cd tree
./autogen.sh >../log 2>&1
./configure CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' \
    --disable-shared --enable-static >>../log 2>&1
make -j"$(getconf _NPROCESSORS_ONLN)" >>../log 2>&1
ASAN_OPTIONS=detect_leaks=1 make check
