#!/bin/bash -eu
# SPDX-License-Identifier: BSD-2-Clause
# In the sources: builds all targets of tests/fuzz with what OSS-Fuzz sets, into $OUT.
./autogen.sh
./configure --disable-shared --enable-static --disable-openmp --without-libcurl --without-libedit
# Kernels take minutes to compile otherwise, and have no branches that lead a fuzzer anywhere.
make -j"$(nproc)" simd/libsimd.la CFLAGS="$CFLAGS -O0"
make -j"$(nproc)" gemkv tests/mkmodel
make -j"$(nproc)" fuzzers CCLD="$CXX $CXXFLAGS"

ASAN_OPTIONS=detect_leaks=0 python3 tests/fuzz/seeds.py tests/mkmodel ./gemkv seeds
cp -r seeds/files/. "$OUT/"
cp seeds/*.dict "$OUT/"
printf '[libfuzzer]\ndetect_leaks = 0\n' >"$OUT/http.options"
mkdir -p "$OUT/lib"
for source in tests/fuzz/*.c; do
    target=$(basename "$source" .c)
    case $target in fuzz | driver) continue;; esac
    cp "tests/fuzz/$target" "$OUT/"
    (cd "seeds/$target" && zip -q "$OUT/${target}_seed_corpus.zip" -- *)
    # The machine that runs them has no libraries but the C library.
    ldd "$OUT/$target" | awk '$2 == "=>" && $1 !~ /^lib(c|m|dl|rt|pthread|gcc_s|resolv)\.so/ { print $3 }' |
        xargs -r cp -n -t "$OUT/lib"
    patchelf --force-rpath --set-rpath "\$ORIGIN/lib" "$OUT/$target"
done
