#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# index.sh - what an index costs and saves: a document indexed and asked, beside a fresh streamed question
#
#     bench/index.sh [-t THREADS] [-g GRADE,..] [-k N] [-o FILE] [-F] MODEL.gguf TEXT BYTES...
#
# For the first BYTES of TEXT, again from its beginning if it is shorter: tokens; seconds to index, and bytes per
# token of the segment; seconds to the first token and of the first pass, with the page cache dropped (as root) and
# warm, the median of five; the same of a fresh `ask --schedule stream` (-F: not that); and how many times the warm
# one the fresh one takes.  -o appends each to FILE, a table of results (record.py).  Run it with nothing else on
# the machine.
set -eu
LC_ALL=C
export LC_ALL
threads=2 grades=compact keep=1024 table= fresh=yes
gemkv=${GEMKV:-./gemkv}
while getopts t:g:k:o:F o; do
    case $o in
    t) threads=$OPTARG ;;
    g) grades=$OPTARG ;;
    k) keep=$OPTARG ;;
    o) table=$OPTARG ;;
    F) fresh= ;;
    *) sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
shift $((OPTIND - 1))
test $# -ge 3 || { sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
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
    while cat "$text"; do :; done 2>/dev/null | head -c "$bytes" >"$scratch/text"
    took_fresh='- -'
    for grade in $(echo "$grades" | tr , ' '); do
        rm -rf "$scratch/library"
        start=$(date +%s.%N)
        "$gemkv" index -q -m "$model" -t "$threads" --grade "$grade" "$scratch/library" "$scratch/text"
        took=$(awk "BEGIN { printf \"%.2f\", $(date +%s.%N) - $start }")
        size=$(du -B1 "$scratch"/library/segments/*.gkv | awk '{ s += $1 } END { print s }')
        sync
        cold='- -'
        if test -w /proc/sys/vm/drop_caches && echo 3 2>/dev/null >/proc/sys/vm/drop_caches; then
            cold=$(ask -L "$scratch/library" | cut -d' ' -f1,2)
        fi
        warm=$(for i in 1 2 3 4 5; do ask -L "$scratch/library"; done | median)
        tokens=$("$gemkv" index --list --json "$scratch/library" | sed -n 's/.*"tokens": *\([0-9]*\).*/\1/p' | head -1)
        if test -n "$fresh" && test "$took_fresh" = '- -'; then
            took_fresh=$(ask --schedule stream -f "$scratch/text" | cut -d' ' -f1,2)
        fi
        echo "$grade $tokens $took $size $cold $warm $took_fresh" | awk '
            function s(v, form) { return v == "-" ? v : sprintf(form, v) }
            function pair(v, w) { return sprintf("%7s (%5s)", s(v, "%.2f"), s(w, "%.2f")) }
            { printf "%-8s %8d %9.2f %9.0f %s %s %s %7s\n", $1, $2, $3, $4 / $2, pair($5, $6), pair($7, $8),
                pair($9, $10), $9 == "-" ? "-" : sprintf("%.1f", $9 / $7) }'
        record "seconds to index" "$took" s
        record "segment per token" "$(awk "BEGIN { print $size / $tokens }")" B
        test "$cold" = '- -' || record "first token, page cache dropped" "${cold% *}" s
        record "first token, warm" "${warm% *}" s
        test "$took_fresh" = '- -' || record "first token, fresh, schedule stream" "${took_fresh% *}" s
    done
done
