#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# gemkv bench beside the llama-bench of llama.cpp or ik_llama.cpp: the same files, tests, threads
# and KV type, in alternating runs of one test each.  Or beside OpenVINO, whose form of each model openvino-bench.py
# made (without its Python modules, nothing is measured).  Or beside another build of gemkv: was it faster before?
#
#     bench/peers.sh [options] LLAMA_BENCH|bench/openvino-bench.py|GEMKV MODEL.gguf... [-- options of it]
#
#     -p N,..    prefill: N tokens into an empty context; 0: none   (512,2048)
#     -n N       decode: N tokens, one at a time; 0: none           (64)
#     -d N,..    decode them after N tokens                         (0)
#     -t N,..    threads                                            (2)
#     -k TYPE    keys and values: f16, bf16, q8_0                   (f16)
#     -g NAME    gemkv's products, as --gemm                        (own)
#     -w         gemkv packs weights once, as --repack
#     -r N       repetitions in a run, of which the median counts   (3)
#     -R N       rounds: runs of each program                       (5)
#     -F         go on although the machine is not quiet
#     -o FILE    append each line to FILE, a table of results (record.py)
#
# One line per test: the median of the rounds of both in tokens per second, the ratio of the
# medians, and from where to where the ratios of single rounds reach.  Above 1, gemkv is faster.
# Ratios are what to quote: absolute figures move with the machine.
#
# Nothing else must run.  Where it cannot be helped, as root, in the shell that starts this,
# ask the scheduler to prefer everything started from there:
#
#     echo -15 > /proc/self/autogroup
set -eu
LC_ALL=C
export LC_ALL

prompts=512,2048 gen=64 depths=0 threads=2 kv=f16 gemm=own repack= reps=3 rounds=5 force= table=
gemkv=${GEMKV:-./gemkv}

called=$(echo "bench/peers.sh $*" | sed 's| [^ ]*/| |g')   # without folders

die() {
    echo "peers.sh: $*" >&2
    exit 1
}

usage() {
    sed -n 's/^# \{0,1\}//; 3,/^set/p' "$0" | sed '/^set/d' >&2
    exit 2
}

while getopts p:n:d:t:k:g:wr:R:Fo: o; do
    case $o in
    p) prompts=$OPTARG ;;
    n) gen=$OPTARG ;;
    d) depths=$OPTARG ;;
    t) threads=$OPTARG ;;
    k) kv=$OPTARG ;;
    g) gemm=$OPTARG ;;
    w) repack=--repack ;;
    r) reps=$OPTARG ;;
    R) rounds=$OPTARG ;;
    F) force=1 ;;
    o) table=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
test $# -ge 2 || usage
peer=$1
shift
more='' after=''                        # models stay in "$@"
for a; do
    shift
    if test -n "$after"; then
        more="$more $a"
    elif test "$a" = --; then
        after=1
    else
        set -- "$@" "$a"
    fi
done
test $# -ge 1 || usage

# llama.cpp decodes after a depth with -d, ik_llama.cpp with -gp DEPTH,N.
help=$("$peer" --help 2>&1) || :
case $help in
*openvino-bench.py*)
    python3 -c 'import openvino_genai' 2>/dev/null || {
        echo "peers.sh: OpenVINO is skipped: python3 has no module openvino_genai (pip install openvino-genai nncf)" >&2
        exit 0
    } ;;
*gemkv*) ;;
*--n-prompt*--n-gen*) ;;
*) die "$peer: its --help is not that of llama-bench" ;;
esac
case $help in
*openvino-bench.py*) after_depth=d ;;
*gemkv*) after_depth=gemkv ;;
*--n-depth*) after_depth=d ;;
*-gp\ *) after_depth=gp ;;
*) after_depth='' ;;
esac
all_threads=$threads
version=$("$gemkv" --version) || die "no $gemkv; build it, or set GEMKV"

read -r load rest </proc/loadavg
if awk "BEGIN { exit !($load > 0.5) }"; then
    test -n "$force" || die "the load average is $load: wait until nothing else runs, or give -F"
    echo "peers.sh: warning: the load average is $load" >&2
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

median() {      # of the numbers on standard input, one a line
    awk 'NF { printf "%.6f\n", $1 }' | sort -n |
        awk '{ v[NR] = $1 } END { if (NR) print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

run_gemkv() {   # PROGRAM OPTIONS...
    program=$1
    shift
    case $kind in
    pp) set -- -p "$size" -n 0 "$@" ;;
    tg) set -- -p 0 -n "$size" -d "$depth" "$@" ;;
    esac
    "$program" bench --json -m "$model" -t "$threads" --kv-type "$kv" -r "$reps" "$@" \
        2>"$scratch/err" | sed -n 's/.*"median": \([^,}]*\).*/\1/p'
}

run_ours() {
    # shellcheck disable=SC2086
    run_gemkv "$gemkv" --gemm "$gemm" $repack
}

run_theirs() {
    if test "$after_depth" = gemkv; then
        git -C "$(dirname "$peer")" describe --always --dirty --exclude='*' >"$scratch/build" 2>/dev/null || :
        # shellcheck disable=SC2086
        run_gemkv "$peer" $more
        return
    fi
    case $kind-$depth-$after_depth in
    pp-*) set -- -p "$size" -n 0 ;;
    tg-0-*) set -- -p 0 -n "$size" ;;
    tg-*-d) set -- -p 0 -n "$size" -d "$depth" ;;
    tg-*-gp) set -- -p 0 -n 0 -gp "$depth,$size" ;;
    esac
    # shellcheck disable=SC2086
    "$peer" -m "$model" -t "$threads" -ctk "$kv" -ctv "$kv" -r "$reps" -o json "$@" $more \
        2>"$scratch/err" >"$scratch/json" || :
    build=$(sed -n 's/.*"build_commit": *"\([^"]*\)".*/\1/p' "$scratch/json" | head -n 1)
    echo "${build:-}" >"$scratch/build"
    tr -d '\n' <"$scratch/json" | sed -n 's/.*"samples_ts": *\[\([^]]*\)\].*/\1/p' |
        tr ',' '\n' | median
}

take() {        # take ours|theirs
    rate=$("run_$1")
    test -n "$rate" || { tail -n 3 "$scratch/err" >&2; die "no result from a run of $1: $name"; }
    echo "$rate" >>"$scratch/$1"
    echo "$(basename "$model") $name, round $round: $1 $rate" >&2
}

compare() {
    : >"$scratch/ours"
    : >"$scratch/theirs"
    round=1
    while test "$round" -le "$rounds"; do
        case $((round % 2)) in          # who comes first alternates too
        1) take ours; take theirs ;;
        0) take theirs; take ours ;;
        esac
        round=$((round + 1))
    done
    paste "$scratch/ours" "$scratch/theirs" | awk '{ print $1 / $2 }' | sort -n >"$scratch/ratio"
    awk -v model="$(basename "$model")" -v name="$name" -v a="$(median <"$scratch/ours")" \
        -v b="$(median <"$scratch/theirs")" -v t="$threads" -v min="$(head -n 1 "$scratch/ratio")" \
        -v max="$(tail -n 1 "$scratch/ratio")" 'BEGIN {
            printf "%-28s %-16s %7d %10.2f %10.2f %8.3f   %.3f - %.3f\n", model, name, t, a, b, a / b, min, max
        }' >"$scratch/line"
    cat "$scratch/line"
    test -z "$table" || record
}

record() {      # the line as a row of the table
    who=$(echo "$peer" | sed 's|.*/\(\(ik_\)\{0,1\}llama\.cpp\)/.*|\1|; s|.*/||')
    range=$(sed 's/.*   //' "$scratch/line")
    # the last fields: gemkv peer ratio min - max
    set -- $(awk '{ print $(NF - 5), $(NF - 4), $(NF - 3) }' "$scratch/line")
    "$(dirname "$0")/record.py" "$table" threads="$threads" what="$name" model="$(basename "$model" .gguf)" \
        command="$called" value="$1" unit=tokens/s against="$who $(cat "$scratch/build")$more" \
        against_value="$2" ratio="$3" range="$range" \
        note="KV $kv, --gemm $gemm${repack:+ $repack}, $rounds rounds, median of $reps in each, load $load"
}

cpu=$(sed -n 's/^model name[^:]*: *//p' /proc/cpuinfo | head -n 1)
echo "$version, $peer$more"
echo "$(date +%F), ${cpu:-$(uname -m)}, KV $kv, $rounds rounds, median of $reps" \
    "in each, load $load"
printf '%-28s %-16s %7s %10s %10s %8s   %s\n' model test threads gemkv peer ratio 'of rounds'

one_model() {   # every test of $model with $threads
    kind=pp depth=0
    for size in $(echo "$prompts" | tr , ' '); do
        name=pp$size
        test "$size" = 0 || compare
    done
    kind=tg size=$gen
    for depth in $(echo "$depths" | tr , ' '); do
        name=tg$size
        test "$depth" = 0 || name="$name @ d$depth"
        test "$size" != 0 || continue
        if test "$depth" != 0 && test -z "$after_depth"; then
            echo "peers.sh: $peer cannot write after a depth: no $name" >&2
            continue
        fi
        compare
    done
}

for model; do
    for threads in $(echo "$all_threads" | tr , ' '); do
        one_model
    done
done
