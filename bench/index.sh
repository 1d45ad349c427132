#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# index.sh - what an index costs and saves: a document indexed and asked, beside a fresh streamed question
#
#     bench/index.sh [-t THREADS] [-g GRADE,..] [-k N] [-o FILE] MODEL.gguf TEXT BYTES...
#
# For the first BYTES of TEXT: tokens; seconds to index, and bytes per token of the segment; seconds to the
# first token and of the first pass, with the page cache dropped (as root) and warm, the median of five; the
# same of a fresh `ask --schedule stream`; and what the fresh one takes of the warm one.  -o appends each to
# FILE, a table of results (record.py).  Run it with nothing else on the machine.
set -eu
LC_ALL=C
export LC_ALL
threads=2 grades=compact keep=1024 table=
gemkv=${GEMKV:-./gemkv}
while getopts t:g:k:o: o; do
    case $o in
    t) threads=$OPTARG ;;
    g) grades=$OPTARG ;;
    k) keep=$OPTARG ;;
    o) table=$OPTARG ;;
    *) sed -n '5,11s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
test $# -ge 3 || { sed -n '5,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
model=$1 text=$2
shift 2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

ask() {         # OPTIONS...: seconds to the first token, of the first pass, tokens of the prompt
    "$gemkv" ask --json -q -m "$model" -t "$threads" -k "$keep" -n 2 --device cpu "$@" "What is it?" 2>"$scratch/err" |
        sed -n 's/.*"tokens": {[^}]*"prompt": \([0-9]*\).*"first": \([0-9.e-]*\).*"ttft": \([0-9.e-]*\).*/\3 \2 \1/p'
}

median() { sort -n | awk '{ v[NR] = $1; w[NR] = $2 } END { m = int((NR + 1) / 2); print v[m], w[m] }'; }

record() {      # WHAT VALUE UNIT
    test -z "$table" || "$(dirname "$0")/record.py" "$table" threads="$threads" what="index $grade, $tokens tokens: $1" \
        model="$(basename "$model" .gguf)" command="bench/index.sh -g $grade -k $keep" value="$2" unit="$3"
}

printf '%-8s %8s %9s %9s %15s %15s %15s %7s\n' grade tokens "index s" "B/token" "cold s (first)" "warm s (first)" "fresh s (first)" ratio
for bytes; do
    head -c "$bytes" "$text" >"$scratch/text"
    set -- $(ask --schedule stream -f "$scratch/text")
    fresh=$1 fresh_first=$2 tokens=$3
    for grade in $(echo "$grades" | tr , ' '); do
        rm -rf "$scratch/library"
        start=$(date +%s.%N)
        "$gemkv" index -q -m "$model" -t "$threads" --grade "$grade" "$scratch/library" "$scratch/text"
        took=$(awk "BEGIN { printf \"%.2f\", $(date +%s.%N) - $start }")
        size=$(du -B1 "$scratch"/library/*/*.gkv "$scratch"/library/*.gkv 2>/dev/null | awk '{ s += $1 } END { print s }')
        sync
        cold='- -'
        if test -w /proc/sys/vm/drop_caches && echo 3 >/proc/sys/vm/drop_caches 2>/dev/null; then
            cold=$(ask -L "$scratch/library" | cut -d' ' -f1,2)
        fi
        warm=$(for i in 1 2 3 4 5; do ask -L "$scratch/library"; done | median)
        echo "$grade $tokens $took $size $cold $warm $fresh $fresh_first" | awk '{
            printf "%-8s %8d %9.2f %9.0f %7.2f (%5.2f) %7.2f (%5.2f) %7.2f (%5.1f) %7.1f\n",
                $1, $2, $3, $4 / $2, $5, $6, $7, $8, $9, $10, $9 / $7 }'
        record "seconds to index" "$took" s
        record "segment per token" "$(awk "BEGIN { print $size / $tokens }")" B
        record "first token, page cache dropped" "${cold% *}" s
        record "first token, warm" "${warm% *}" s
        record "first token, fresh, schedule stream" "$fresh" s
    done
done
