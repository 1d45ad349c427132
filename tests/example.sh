#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# example.sh - the example of libgemkv(3) compiles without a warning, runs, and asks twice.
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
skip() { echo "1..0 # SKIP $*"; exit; }
test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 || skip "big-endian machine: no model can be read"
test -f "$build/libgemkv.la" || skip "an installed program is tested"
CC=${CC:-cc}
command -v "${CC%% *}" >/dev/null || skip "no compiler $CC"
case "$CFLAGS $CC" in *-fsanitize*|*-static*) skip "not with $CFLAGS";; esac
test -z "$EMULATOR$MKMODEL" || skip "under an emulator"

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
echo 1..3
# The example is from ".Bd -literal" to ".Ed", as the manual shows it.
sed -n '/^\.Bd -literal/,/^\.Ed/p' "$src/man/libgemkv.3" | sed '/^\./d; s/\\\\/\\/g' >"$scratch/example.c"
# shellcheck disable=SC2086
if "$build/libtool" --quiet --mode=link $CC -std=c11 -Wall -Wextra -Werror -I"$src/include" \
    -o "$scratch/example" "$scratch/example.c" "$build/libgemkv.la" >"$scratch/log" 2>&1
then echo "ok 1 - it compiles"; else echo "not ok 1 - it compiles"; sed 's/^/# /' "$scratch/log"; exit; fi
"$build/tests/mkmodel" "$scratch/tiny.gguf" || { echo "Bail out! no model"; exit 99; }
awk 'BEGIN { for (i = 1; i <= 30; i++) print "Line " i ": the cat sat on mat number " i * i "." }' >"$scratch/text"
if GEMKV_PLUGIN_DIR=/nowhere "$scratch/example" "$scratch/tiny.gguf" "$scratch/text" >"$scratch/out" 2>&1
then echo "ok 2 - it runs"; else echo "not ok 2 - it runs"; sed 's/^/# /' "$scratch/out"; fi
n=$(grep -ac 'passages; the first is of bytes' "$scratch/out")
if test "$n" = 2; then echo "ok 3 - two answers"; else echo "not ok 3 - $n answers of two"; fi
