#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# library-killed.sh - what may not break a library: kill -9 at random moments, a folder that cannot be written, a
# full disk, two writers, damage.  tests/cli/library-killed.sh is a shorter one, which make check runs.
#
#     tests/library-killed.sh [KILLS]         100 without a number; in the build tree
set -u
kills=${1:-100}
gemkv=${GEMKV:-$PWD/gemkv}
scratch=$(mktemp -d) || exit 99
mounted=
# shellcheck disable=SC2329
end() { test -z "$mounted" || umount "$mounted"; rm -rf "$scratch"; }
trap end EXIT
trap 'exit 99' HUP INT TERM
"${MKMODEL:-$PWD/tests/mkmodel}" "$scratch/tiny.gguf" || exit 99
cd "$scratch" || exit 99
GEMKV_MODEL=$scratch/tiny.gguf GEMKV_CPU=ref XDG_DATA_HOME=$scratch/data LC_ALL=C
export GEMKV_MODEL GEMKV_CPU XDG_DATA_HOME LC_ALL
n=0 failed=0
result() { n=$((n + 1)); test "$1" -eq 0 && printf 'ok' || { printf 'not ok'; failed=1; }; echo " $n - $2"; }
put() { "$gemkv" index -q --grade exact "$@"; }
version() { awk -v v="$1" 'BEGIN { for (i = 0; i < 15 + 9 * v; i++) print "Line " i " of version " v ": the cat sat on mat " i * v "." }'; }
for v in 1 2 3 4; do version $v >v$v; done

# Every document of a library is one of its versions, whole.
whole() {       # LIBRARY
    "$gemkv" index -q --verify "$1" || return 1
    "$gemkv" index -q --list "$1" | awk '{ print $NF }' >names
    while read -r name; do
        "$gemkv" select -q --method full -L "$1" --among "$name" q >text 2>/dev/null || return 1
        cmp -s text v1 || cmp -s text v2 || cmp -s text v3 || cmp -s text v4 || { echo "# $name is broken"; return 1; }
    done <names
    test ! -s names || "$gemkv" ask -q -k 96 -n 2 -L "$1" "Where is the cat?" >answer || return 1
}

# Moments at random in the time that a run takes, from a seed, so that a failure can be had again.
cp v1 a; cp v2 b; cp v3 c
start=$(date +%s%N)
put timed a b c
took=$(($(date +%s%N) - start))
broken=0 mid=0 i=0
while test $i -lt "$kills"; do
    i=$((i + 1))
    cp v$((i % 4 + 1)) a; cp v$(((i + 1) % 4 + 1)) b; cp v$(((i + 2) % 4 + 1)) c
    "$gemkv" index -q --grade exact lib a b c 2>/dev/null &
    pid=$!
    sleep "$(awk "BEGIN { srand($i); printf \"%.4f\", rand() * $took / 1e9 }")"
    kill -9 $pid 2>/dev/null && mid=$((mid + 1))
    wait $pid 2>/dev/null
    "$gemkv" index -q --list lib >names 2>err || {
        grep -q 'no catalogue\|nothing was put into it' err || { broken=$((broken + 1)); sed 's/^/# /' err; }
        continue
    }
    whole lib || { broken=$((broken + 1)); echo "# broken after kill $i"; }
done
result $broken "$kills kills, $mid of them of a running process"
put lib a b c && test "$(ls lib/segments | wc -l)" -eq 3
result $? "what the killed left is gone"

# Two writers: one is told, readers go on.
mkfifo pipe
"$gemkv" index -q --grade exact lib pipe &
pid=$!
exec 3>pipe
put lib a --again 2>err; test $? -eq 1 && grep -q "process $pid writes" err && whole lib
result $? "a second writer is told who writes, and the library can be read"
echo "From a pipe." >&3
exec 3>&-
wait $pid
"$gemkv" index -q --remove lib pipe

# A folder that cannot be written.
if test "$(id -u)" -eq 0 && mkdir full && mount -t tmpfs -o size=1m tmpfs full 2>/dev/null; then
    mounted=$scratch/full
    put full/lib a b
    awk 'BEGIN { for (i = 0; i < 300; i++) print "Line " i " is too much." }' >big
    put full/lib big 2>err; test $? -eq 1 && grep -q 'No space left' err && whole full/lib
    result $? "a full disk is said, and loses nothing"
    mount -o remount,ro full && put full/lib c 2>err; test $? -eq 1 && whole full/lib
    result $? "what cannot be written can be asked"
    umount full
    mounted=
else
    n=$((n + 2))
    echo "ok $((n - 1)) - a full disk # SKIP needs root and tmpfs"
    echo "ok $n - a folder that cannot be written # SKIP needs root and tmpfs"
fi

# Damage costs the document that it is in.
segment=$(ls lib/segments/* | head -n 1)
size=$(wc -c <"$segment") bad=0
for i in 1 2 3 4 5 6 7 8 9 10; do
    cp "$segment" saved
    at=$(awk "BEGIN { srand($i); print int(rand() * 4096) }")
    byte=$(dd if="$segment" bs=1 skip="$at" count=1 2>/dev/null | od -An -tu1)
    printf "\\$(printf %o $(((byte + 1) % 256)))" | dd of="$segment" bs=1 seek="$at" conv=notrunc 2>/dev/null
    if cmp -s "$segment" saved; then bad=1; fi
    "$gemkv" index -q --verify lib 2>err && bad=1
    "$gemkv" select --json -k 96 -L lib q 2>err >json
    code=$?
    # a byte in the padding is found by --verify only
    if grep -q '"left_out": \[{' json; then grep -q 'left out' err || bad=1; elif test $code -ne 0; then bad=1; fi
    cat saved >"$segment"
done
result $bad "ten damaged bytes of $size: found, and that document left out"
whole lib
result $? "whole again"
echo "1..$n"
exit $failed
