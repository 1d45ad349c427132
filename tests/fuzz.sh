#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# fuzz.sh - each target of tests/fuzz replays its seeds, damaged copies of them, and what was ever found
srcdir=${srcdir:-.} builddir=${builddir:-.}
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
here=$(cd "$builddir" && pwd)

if ! command -v python3 >/dev/null; then echo "1..0 # skipped: no python3, which makes the seeds"; exit 0; fi
if ! python3 "$srcdir/tests/fuzz/seeds.py" "$here/tests/mkmodel" "$here/gemkv" "$scratch/seeds"; then
    echo "Bail out! no seeds"
    exit 1
fi

# An input that fails is left where make check runs.
export FUZZ_FILES="$scratch/seeds/files" TMPDIR="$scratch"
n=0
for source in "$srcdir"/tests/fuzz/*.c; do
    target=$(basename "$source" .c)
    case $target in fuzz|driver) continue;; esac
    n=$((n + 1))
    if "$here/tests/fuzz/$target" "$scratch/seeds/$target" >"$scratch/said" 2>&1; then
        echo "ok $n - $(tail -n 1 "$scratch/said")"
    else
        tail -n 40 "$scratch/said" | sed 's/^/# /'
        echo "not ok $n - $target"
    fi
done
echo "1..$n"
