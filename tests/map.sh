#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# TAP: every GKV_API function is in the map, and nothing else is exported
echo 1..2
h=$(sed -n 's/^GKV_API .*[ *]\(gkv_[a-z0-9_]*\)(.*/\1/p' "$srcdir/include/gemkv.h" | sort)
m=$(sed -n 's/^	\(gkv_[a-z0-9_]*\);$/\1/p' "$srcdir/src/libgemkv.map" | sort)
test "$h" = "$m" && echo "ok 1 - header and map agree" || echo "not ok 1 - header and map agree"
if test ! -f .libs/libgemkv.so; then
  echo "ok 2 - exports # SKIP no shared library in this build"
  exit
fi
x=$(nm -D --defined-only .libs/libgemkv.so | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort)
test "$h" = "$x" && echo "ok 2 - libgemkv.so exports just that" ||
  { echo "not ok 2 - exports"; echo "$x" | sed 's/^/# /'; }
