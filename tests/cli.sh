#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cli.sh - run the cases tests/cli/NAME.sh, each in a directory of its own with a tiny model
# and a text, and compare what they print with NAME.out, NAME.err and NAME.exit (a missing
# file: nothing, nothing, 0).  A case that exits 77 is skipped; its last line says why.
#
#     tests/cli.sh [NAME...]              runs only these
#     UPDATE=1 tests/cli.sh [NAME...]     makes the present output the expected output
#     GEMKV_BINDIR=/usr/bin ...           test an installed program
#     CLI_JOBS=1 ...                      cases at once; otherwise as many as there are processors
#     CLI_EVERY=5 ...                     only every fifth case

# Cases send signals, which whoever started this may ignore (nohup, a job in the background), as a shell's workers do.
reset='env --default-signal' jobs=${CLI_JOBS:-$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)}
$reset true 2>/dev/null || reset='' jobs=1

test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ||
    { echo "1..0 # SKIP big-endian machine: no model can be read"; exit; }
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
cases=$src/tests/cli
mkmodel=${MKMODEL:-$build/tests/mkmodel}
plugins=$build/gpu/null/.libs
groups=$build/group
GEMKV_PLUGIN_DIR=/nowhere                       # no real device
PATH=${GEMKV_BINDIR:-$build}:$PATH
LC_ALL=C
GEMKV_CPU=ref
GEMKV_MODEL=tiny.gguf
MALLOC_PERTURB_=${MALLOC_PERTURB_-165}          # glibc: memory is never zero by chance, and not what it was once it is freed
export PATH LC_ALL GEMKV_CPU GEMKV_MODEL MALLOC_PERTURB_ cases mkmodel plugins groups GEMKV_PLUGIN_DIR

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
pids=''
trap 'kill $pids; exit 99' HUP INT TERM

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
        test ! -s "$own/$1" || cp "$own/$1" "$want"
    fi
    test -f "$want" || want=/dev/null
    cmp -s "$want" "$own/$1" && return
    diff -u "$want" "$own/$1" | sed "s/^/# $1: /"
    bad=1
}

# case N NAME: runs it in $own and prints its lines.
run_case() {
    n=$1 name=$2 bad=
    rm -rf "$own"
    mkdir "$own"
    cp -R "$scratch/fixture" "$own/dir"
    (cd "$own/dir" && exec $reset sh -c '. "$cases/common"; . "$cases/$0.sh"' "$name") </dev/null >"$own/out" 2>"$own/err"
    code=$?
    if test $code -eq 77; then
        echo "ok $n - $name # SKIP $(tail -n 1 "$own/out")"
        return
    fi
    if test $code -eq 0; then : >"$own/exit"; else echo $code >"$own/exit"; fi
    compare out
    compare err
    compare exit
    test -z "$bad" || printf 'not '
    echo "ok $n - $name"
}

# worker W NAME...: runs the cases that no other worker has taken; a folder can be made once.
worker() {
    own=$scratch/worker.$1
    XDG_DATA_HOME=$own/data                 # no calibration of the user
    export XDG_DATA_HOME
    shift
    i=0
    for case; do
        i=$((i + 1))
        mkdir "$scratch/taken.$i" 2>/dev/null || continue
        run_case $i "$case" >"$scratch/tap.$i.part" && mv "$scratch/tap.$i.part" "$scratch/tap.$i"
    done
}

test $# -gt 0 || set -- $(cd "$cases" && ls -- *.sh | sed 's/\.sh$//' | awk -v every="${CLI_EVERY:-1}" 'NR % every == 0')
echo "1..$#"
if test "$jobs" = 1; then
    worker 1 "$@"
else
    for w in $(seq "$jobs"); do
        worker "$w" "$@" &
        pids="$pids $!"
    done
fi
working() { for pid in $pids; do kill -0 "$pid" 2>/dev/null && return; done; return 1; }

# Their lines in order, as the cases end.
n=0 failed=0
for name; do
    n=$((n + 1))
    until test -f "$scratch/tap.$n" || ! working; do sleep 0.05; done
    cat "$scratch/tap.$n" 2>/dev/null || echo "not ok $n - $name: it ended the one who ran it"
    grep -q '^ok' "$scratch/tap.$n" 2>/dev/null || failed=1
done
exit $failed
