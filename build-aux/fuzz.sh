#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build-aux/fuzz.sh TARGET SECONDS [OPTION OF LIBFUZZER]...
# build-aux/fuzz.sh build
#
# Builds the targets of tests/fuzz with clang, AddressSanitizer and UBSan in build-fuzz/ and runs one of them.  It
# begins with the seeds of tests/fuzz/seeds.py and what earlier runs have kept in build-fuzz/corpus/TARGET.
# An input that fails is written to build-fuzz/: when the code is mended, it goes to FOUND in tests/fuzz/seeds.py.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
test $# -ge 1 || { sed -n '4,5s/^# /usage: /p' "$0"; exit 2; }
dir=${FUZZ_DIR:-$src/build-fuzz}
target=$1 seconds=${2-60}
shift; test $# = 0 || shift

# The tree is copied, because the checkout may be configured for another build; what has not changed is not built again.
mkdir -p "$dir/tree"
(cd "$src" && git ls-files -zco --exclude-standard -- ':!data/*.gguf' | xargs -0 tar cf - --ignore-failed-read) |
    tar xf - -C "$dir/tree"
ln -sf "$src"/data/*.gguf "$dir/tree/data/"
cd "$dir/tree"
make_it() { make -j"$(getconf _NPROCESSORS_ONLN)" "$@" >>../log 2>&1 || { tail -n 20 ../log; exit 1; }; }
test -f Makefile || {
    ./autogen.sh && ./configure CC="${CC:-clang}" LIB_FUZZING_ENGINE=-fsanitize=fuzzer \
        --disable-shared --enable-static \
        CFLAGS='-O1 -g -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
} >../log 2>&1 || { tail -n 20 ../log; exit 1; }
# Kernels take minutes to compile otherwise, and have no branches that lead a fuzzer anywhere.
make_it simd/libsimd.la CFLAGS='-O0 -fsanitize=address'
make_it fuzzers gemkv tests/mkmodel
test "$target" != build || exit 0

test -d ../seeds || python3 tests/fuzz/seeds.py tests/mkmodel ./gemkv ../seeds
export FUZZ_FILES="$dir/seeds/files" ASAN_OPTIONS=detect_stack_use_after_return=0
mkdir -p "../corpus/$target"
set -- -max_total_time="$seconds" -timeout=60 -rss_limit_mb=3000 -artifact_prefix="$dir/$target-" "$@"
# Threads of libmicrohttpd hold memory of a request when it has been answered.
test "$target" != http || set -- -detect_leaks=0 "$@"
test ! -f "../seeds/$target.dict" || set -- -dict="../seeds/$target.dict" "$@"
exec "tests/fuzz/$target" "../corpus/$target" "$@" "../seeds/$target"
