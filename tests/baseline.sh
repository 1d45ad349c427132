#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# TAP: instructions above the baseline are only in functions whose names end in their
# instruction set, so that a distribution's baseline build runs on the baseline machine
echo 1..2
skip() { echo "ok 1 # SKIP $1"; echo "ok 2 # SKIP $1"; exit; }
lib=.libs/libgemkv.so
objdump=${OBJDUMP:-objdump}
case $CFLAGS in
  *-march=*|*-mcpu=*|*-mavx*) skip "CFLAGS above the baseline";;
  *-fsanitize*) skip "sanitizers add functions of their own";;
esac
test -f $lib || skip "no shared library in this build"
command -v "$objdump" >/dev/null || skip "no objdump"

# A rule: instructions, the levels whose functions may have them, and a function that must (or -).
case $("$objdump" -f $lib) in
  *x86-64*) rules='
    vpdpbusd                                          avxvnni|avx512[a-z0-9]*|amx       -
    %ymm                                              avx2|avxvnni|avx512[a-z0-9]*|amx  attend_avx2
    %zmm                                              avx512[a-z0-9]*|amx       -
    %tmm                                              amx                       -';;
  *aarch64*) rules='
    [^a-z]fmla[^a-z]                                  any                       attend_neon
    [^a-z][su]dot[^a-z]                               dotprod|i8mm              -
    [^a-z]([su]mmla|usmmla|usdot|sudot)[^a-z]         i8mm                      -
    [^a-z]bf(cvt|dot|mlal|mmla)|[^a-z][pz][0-9]+[./]  none                      -';;
  *) skip "no levels above the baseline";;
esac
found=$("$objdump" -d --no-show-raw-insn $lib | RULES=$rules awk '
  BEGIN { n = split(ENVIRON["RULES"], rule) / 3 }
  /^[0-9a-f]+ </ { f = $2; next }
  { sub(/<.*/, "") }
  { for (i = 0; i < n; i++)
      if ($0 ~ rule[3 * i + 1]) {
        if (rule[3 * i + 2] != "any" && f !~ "_(" rule[3 * i + 2] ")(\\.[a-z0-9._]+)?>:$")
          print "stray", f, $0
        if (f ~ "^<" rule[3 * i + 3] "(\\.[a-z0-9._]+)?>:$")
          print "there"
      } }' | sort -u)
bad=$(echo "$found" | grep '^stray')
test -z "$bad" && echo "ok 1 - no stray instructions" ||
  { echo "not ok 1 - stray instructions"; echo "$bad" | sed 's/^/# /'; }
# The test finds the instructions where they belong; so it would find stray ones too.
echo "$found" | grep -q '^there' && echo "ok 2 - the kernels are there" ||
  echo "not ok 2 - the kernels are there"
