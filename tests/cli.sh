#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cli.sh - run the cases tests/cli/NAME.sh, each in a directory of its own with a tiny model
# and a text, and compare what they print with NAME.out, NAME.err and NAME.exit (a missing
# file: nothing, nothing, 0).  A case that exits 77 is skipped; its last line says why.
#
#     tests/cli.sh [NAME...]              runs only these
#     UPDATE=1 tests/cli.sh [NAME...]     makes the present output the expected output
#     GEMKV_BINDIR=/usr/bin ...           test an installed program

# Cases send signals, which whoever started this may ignore (nohup, a job in the background).
if test -z "${SIGNALS_RESET-}" && env --default-signal true 2>/dev/null; then
    SIGNALS_RESET=1 exec env --default-signal sh "$0" "$@"
fi

test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ||
    { echo "1..0 # SKIP big-endian machine: no model can be read"; exit; }
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
cases=$src/tests/cli
mkmodel=${MKMODEL:-$build/tests/mkmodel}
plugins=$build/gpu/null/.libs
GEMKV_PLUGIN_DIR=/nowhere                       # no real device
PATH=${GEMKV_BINDIR:-$build}:$PATH
LC_ALL=C
GEMKV_CPU=ref
GEMKV_MODEL=tiny.gguf
export PATH LC_ALL GEMKV_CPU GEMKV_MODEL cases mkmodel plugins GEMKV_PLUGIN_DIR

scratch=$(mktemp -d) || exit 99
XDG_DATA_HOME=$scratch/data             # no calibration of the user
export XDG_DATA_HOME
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

mkdir "$scratch/fixture"
"$mkmodel" "$scratch/fixture/tiny.gguf" || { echo "Bail out! no $mkmodel"; exit 99; }
awk 'BEGIN {
    for (i = 1; i <= 12; i++)
        printf "Line %d: the cat and the hat sat on mat number %d.\n", i, i * i * 37 % 101
    print "The pass key is 48213 and the g\303\251nie is in the bottle."
}' >"$scratch/fixture/text"

# compare SUFFIX: whether the case printed what is expected.
compare() {
    want=$cases/$name.$1
    if test -n "$UPDATE"; then
        rm -f "$want"
        test ! -s "$scratch/$1" || cp "$scratch/$1" "$want"
    fi
    test -f "$want" || want=/dev/null
    cmp -s "$want" "$scratch/$1" && return
    diff -u "$want" "$scratch/$1" | sed "s/^/# $1: /"
    bad=1
}

test $# -gt 0 || set -- $(cd "$cases" && ls -- *.sh | sed 's/\.sh$//')
n=0 failed=0
echo "1..$#"
for name; do
    n=$((n + 1)) bad=
    rm -rf "$scratch/dir" "$scratch/data"
    cp -R "$scratch/fixture" "$scratch/dir"
    (cd "$scratch/dir" && exec sh -c '. "$cases/common"; . "$cases/$0.sh"' "$name") \
        </dev/null >"$scratch/out" 2>"$scratch/err"
    code=$?
    if test $code -eq 77; then
        echo "ok $n - $name # SKIP $(tail -n 1 "$scratch/out")"
        continue
    fi
    if test $code -eq 0; then : >"$scratch/exit"; else echo $code >"$scratch/exit"; fi
    compare out
    compare err
    compare exit
    test -z "$bad" || { printf 'not '; failed=1; }
    echo "ok $n - $name"
done
exit $failed
