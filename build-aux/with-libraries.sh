#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Runs the oracle's cases again, with OpenBLAS and with oneDNN for matrix products, and with OpenMP's threads.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(cd "$src" && git ls-files -z | xargs -0 tar cf - --exclude=data/*.gguf) | tar xf - -C "$dir"
cd "$dir"
cp "$src"/data/*.gguf data/
./autogen.sh >log 2>&1
./configure --with-threads=openmp --with-openblas --with-onednn >>log 2>&1
make -j"$(getconf _NPROCESSORS_ONLN)" >>log 2>&1
tests="tests/unit-gemm.test tests/golden.test"
make check TESTS="$tests" check_PROGRAMS="$tests" check_LTLIBRARIES=
for library in openblas onednn; do
    grep -q "^ok .*, gemm $library\$" tests/golden.log || { echo "golden.test: nothing by $library" >&2; exit 1; }
done
