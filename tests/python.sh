#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# python.sh - the tests of the Python module, python/tests, with the library of this build.
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
skip() { echo "1..0 # SKIP $*"; exit; }
test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 || skip "big-endian machine: no model can be read"
test -z "$EMULATOR$MKMODEL" || skip "under an emulator"
case "$CFLAGS $CC" in *-fsanitize*) skip "Python is not built with $CFLAGS";; esac
test -f "$build/.libs/libgemkv.so" || skip "no shared library in this build"
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || skip "no Python 3.11 or later"

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
"$build/tests/mkmodel" "$scratch/tiny.gguf" || { echo "Bail out! no model"; exit 99; }
"$build/tests/mkmodel" --layers=6 --seed=5 "$scratch/large.gguf" || { echo "Bail out! no model"; exit 99; }
GEMKV=$build/gemkv GEMKV_LIBRARY=$build/.libs/libgemkv.so GEMKV_MODEL=$scratch/tiny.gguf GEMKV_ANSWERER=$scratch/large.gguf GEMKV_HEADER=$src/include/gemkv.h
GEMKV_CPU=ref GEMKV_PLUGIN_DIR=/nowhere         # no real device
XDG_DATA_HOME=$scratch/data                     # no calibration of the user
PYTHONPATH=$src/python PYTHONDONTWRITEBYTECODE=1 # the source may be read-only
export GEMKV GEMKV_LIBRARY GEMKV_MODEL GEMKV_ANSWERER GEMKV_HEADER GEMKV_CPU GEMKV_PLUGIN_DIR XDG_DATA_HOME PYTHONPATH PYTHONDONTWRITEBYTECODE
"$python" "$src/python/tests"
