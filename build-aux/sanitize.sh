#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs all tests under AddressSanitizer and UBSan, in an empty build folder.
#
# The program's kernels are built without them: with both, gcc took seven minutes for simd/x86/avx2.c at -O1, and at -O0
# unit-draft had not ended after ten minutes.  tests/wide.c and tests/emulated/ have the same source with both, and the tests
# of kernels put their buffers beside pages that cannot be read (tests/guarded.h).
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
