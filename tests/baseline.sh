#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# TAP: wide vectors live only in functions whose name ends in their instruction set, so that a
# distribution's baseline build runs on the baseline machine
echo 1..2
skip() { echo "ok 1 # SKIP $1"; echo "ok 2 # SKIP $1"; exit; }
case "$(uname -m) $CFLAGS" in
  x86_64*-march=*|x86_64*-mavx*) skip "CFLAGS above the baseline";;
  *-fsanitize*) skip "sanitizers add functions of their own";;
  x86_64*) ;;
  *) skip "not x86-64";;
esac
test -f .libs/libgemkv.so || skip "no shared library in this build"
command -v objdump >/dev/null || skip "no objdump"
wide=$(objdump -d --no-show-raw-insn .libs/libgemkv.so |
  awk '/^[0-9a-f]+ </ { f = $2 } /%[yz]mm/ { print f }' | sort -u)
bad=$(echo "$wide" | grep -vE '_(avx2|avx512|avx512bf16)(\.[a-z0-9.]+)?>:$')
test -z "$bad" && echo "ok 1 - no stray wide vectors" ||
  { echo "not ok 1 - stray wide vectors"; echo "$bad" | sed 's/^/# /'; }
# ... and the test sees them where they belong, so it could fail.
echo "$wide" | grep -q '<attend_avx2>:' && echo "ok 2 - the AVX2 kernels are there" ||
  echo "not ok 2 - the AVX2 kernels are there"
