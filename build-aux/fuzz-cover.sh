#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build-aux/fuzz-cover.sh TARGET...
#
# Which lines and branches the inputs of each target reach: its seeds, and what build-aux/fuzz.sh has kept
# in build-fuzz/corpus.  Prints the share of each file of src/ that some input reaches by a twentieth or more, and leaves
# build-fuzz/TARGET.profdata for llvm-cov show.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
test $# -ge 1 || { sed -n '4s/^# /usage: /p' "$0"; exit 2; }
dir=${FUZZ_DIR:-$src/build-fuzz}
llvm=$(dirname "$(readlink -f "$(command -v "${CLANG:-clang}")")")

mkdir -p "$dir/cover"
(cd "$src" && git ls-files -zco --exclude-standard -- ':!data/*.gguf' | xargs -0 tar cf - --ignore-failed-read) |
    tar xf - -C "$dir/cover"
ln -sf "$src"/data/*.gguf "$dir/cover/data/"
cd "$dir/cover"
{ test -f Makefile || { ./autogen.sh && ./configure CC="${CC:-clang}" --disable-shared --enable-static \
    CFLAGS='-O1 -g -fprofile-instr-generate -fcoverage-mapping'; }
  make -j"$(getconf _NPROCESSORS_ONLN)" simd/libsimd.la CFLAGS=-O0
  make -j"$(getconf _NPROCESSORS_ONLN)" fuzzers gemkv tests/mkmodel; } >../cover.log 2>&1 || { tail -n 20 ../cover.log; exit 1; }
test -d ../seeds || LLVM_PROFILE_FILE=/dev/null python3 tests/fuzz/seeds.py tests/mkmodel ./gemkv ../seeds

for target; do
    set -- "../seeds/$target"
    test ! -d "../corpus/$target" || set -- "$@" "../corpus/$target"
    LLVM_PROFILE_FILE="../$target.profraw" FUZZ_FILES="$dir/seeds/files" "tests/fuzz/$target" -n 0 "$@"
    "$llvm/llvm-profdata" merge -o "../$target.profdata" "../$target.profraw"
    rm "../$target.profraw"
    "$llvm/llvm-cov" export -summary-only -instr-profile="../$target.profdata" "tests/fuzz/$target" |
        python3 -c 'import json, os, sys
print("%-32s %6s %8s   of %s" % ("", "lines", "branches", sys.argv[1]))
for f in sorted(json.load(sys.stdin)["data"][0]["files"], key=lambda f: f["filename"]):
    name, s = os.path.relpath(f["filename"]), f["summary"]
    if s["lines"]["percent"] >= 5 and name.startswith("src/") and name.endswith(".c"):
        print("%-32s %5.0f%% %7.0f%%" % (name, s["lines"]["percent"], s["branches"]["percent"]))' "$target"
done
