#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gemkv bench on a busy machine, beside its fair share: what it does alone, times the share of the processors that
# its threads have among all that want them.
#
#     bench/load.sh [options] MODEL.gguf [GEMKV...]
#
#     -j N       busy processes beside it                           (8)
#     -t N       threads                                            (2)
#     -p N       prefill of N tokens                                (64)
#     -n N       decode of N tokens                                 (8)
#     -r N       repetitions in a run, of which the median counts   (3)
#     -R N       rounds, of which the median counts                 (3)
#
# GEMKV are the builds to compare, ./gemkv if there is none.  The fair share holds where the scheduler treats all
# processes alike: it is not so across sessions with autogroup, nor for a program that was started with nice.
# Nothing else must run.
set -eu
LC_ALL=C
export LC_ALL

busy=8 threads=2 prompt=64 gen=8 reps=3 rounds=3
while getopts j:t:p:n:r:R: o; do
    case $o in
    j) busy=$OPTARG ;;
    t) threads=$OPTARG ;;
    p) prompt=$OPTARG ;;
    n) gen=$OPTARG ;;
    r) reps=$OPTARG ;;
    R) rounds=$OPTARG ;;
    *) sed -n 's/^# \{0,1\}//; 3,/^set/p' "$0" | sed '/^set/d' >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
test $# -ge 1 || { echo "usage: bench/load.sh [options] MODEL.gguf [GEMKV...]" >&2; exit 2; }
model=$1
shift
test $# -ge 1 || set -- ./gemkv

pids=
scratch=$(mktemp -d)
stop() {
    # shellcheck disable=SC2086
    test -z "$pids" || kill $pids 2>/dev/null || :
    pids=
}
trap 'stop; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

median() {
    sort -n | awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

measure() {     # FILE GEMKV: appends prefill to FILE.pp and decode to FILE.tg
    "$2" bench --json -m "$model" -t "$threads" -p "$prompt" -n "$gen" -r "$reps" 2>/dev/null |
        sed 's/"median": /\n&/g' | sed -n 's/^"median": \([^,}]*\).*/\1/p' >"$scratch/both"
    sed -n 1p "$scratch/both" >>"$1.pp"
    sed -n 2p "$scratch/both" >>"$1.tg"
}

all() {         # WHEN GEMKV...
    when=$1
    shift
    i=0
    for gemkv; do
        measure "$scratch/$when$i" "$gemkv"
        i=$((i + 1))
    done
}

round=0
while test "$round" -lt "$rounds"; do
    all alone "$@"
    n=0
    while test "$n" -lt "$busy"; do
        while :; do :; done &
        pids="$pids $!"
        n=$((n + 1))
    done
    all busy "$@"
    stop
    round=$((round + 1))
done

cores=$(nproc)
printf '%-28s %-6s %10s %10s %10s %12s\n' gemkv test alone busy 'fair share' 'of the share'
i=0
for gemkv; do
    for test in pp tg; do
        awk -v name="$gemkv" -v what="$test" -v a="$(median <"$scratch/alone$i.$test")" \
            -v b="$(median <"$scratch/busy$i.$test")" -v t="$threads" -v j="$busy" -v c="$cores" 'BEGIN {
                used = t < c ? t : c                    # processors that it has alone
                share = c * used / (used + j)           # and when it is one of many
                share = share < used ? share : used
                fair = a * share / used
                printf "%-28s %-6s %10.2f %10.2f %10.2f %12.2f\n", name, what, a, b, fair, b / fair
            }'
    done
    i=$((i + 1))
done
