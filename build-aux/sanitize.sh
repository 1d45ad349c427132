#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs all tests under AddressSanitizer and UBSan, in an empty build folder.
#
# Not the kernels of the program: with both sanitizers gcc takes ten minutes for each of their files at -O1, and at -O0 they
# are so slow that most tests would not end.  tests/wide.c and tests/emulated/ have the same source with both, and
# tests/guarded.h gives kernels buffers between pages that cannot be read.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p tree && (cd "$src" && git ls-files -z | xargs -0 tar cf - --exclude=data/*.gguf) | tar xf - -C tree
cp "$src"/data/*.gguf tree/data/
cd tree
./autogen.sh >../log 2>&1
./configure CFLAGS='-O0 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer' \
    --disable-shared --enable-static >>../log 2>&1
jobs=$(getconf _NPROCESSORS_ONLN)
kernels=$(printf 'include Makefile\nlist:\n\t@echo $(simd_libsimd_la_LIBADD)\n' | make -s -f - list)
make -j"$jobs" CFLAGS=-O1 $kernels >>../log 2>&1
make -j"$jobs" >>../log 2>&1
make -j"$jobs" check TESTS= >>../log 2>&1
ASAN_OPTIONS=detect_leaks=1 make check
