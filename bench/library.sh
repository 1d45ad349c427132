#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# library.sh - a question to a library of many documents, beside the same question to one long document
#
#     bench/library.sh [-t THREADS] [-n DOCUMENTS] [-l LONG] [-b BYTES] [-1 BYTES] [-k N] MODEL.gguf TEXT
#
# Makes n documents of b bytes (1,000; 42,000), each TEXT from another place on with a sentence of its own in the
# middle, and one of TEXT of 550,000 bytes (-1), and indexes both.  With -l only so many have b bytes; the others have a
# sixteenth, so that this ends sooner, and other sentences, so that the words of the question choose the long ones.
# Prints what that took, the tokens that the question asks, and the seconds to the first token of a warm question
# about one of the sentences, the median of five, with the document of the best passage.  Run it with nothing else on
# the machine.
set -eu
LC_ALL=C
export LC_ALL
threads=2 n=1000 most= bytes=42000 long=550000 keep=1024
gemkv=${GEMKV:-./gemkv}
usage() { sed -n '5,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts t:n:l:b:1:k: o; do
    case $o in
    t) threads=$OPTARG ;;
    n) n=$OPTARG ;;
    l) most=$OPTARG ;;
    b) bytes=$OPTARG ;;
    1) long=$OPTARG ;;
    k) keep=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
test $# -eq 2 || usage
model=$1 text=$2
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

mkdir "$scratch/many"
python3 - "$text" "$scratch" "$n" "$bytes" "$long" "${most:-$n}" <<'END'
import sys
text, out, n, all, long, most = open(sys.argv[1], 'rb').read(), sys.argv[2], *map(int, sys.argv[3:])
text *= 2 + max(all, long) // len(text)
for i in range(n):
    size, what = (all, b'lighthouse') if i < most else (all // 16, b'mill')
    at = text.index(b' ', i * 7919 % (len(text) // 4)) + 1
    half = text.index(b'. ', at + size // 2) + 2
    own = b'The keeper of %s %d is called Maurin%d. ' % (what, i, i * 37 % n)
    open(f'{out}/many/{i:04}.txt', 'wb').write(text[at:half] + own + text[half:text.rindex(b' ', at, at + size)])
half = text.index(b'. ', long // 2) + 2
own = b'The keeper of lighthouse 7 is called Maurin%d. ' % (7 * 37 % n)
open(f'{out}/long.txt', 'wb').write(text[:half] + own + text[half:text.rindex(b' ', 0, long)])
END

index() {       # LIBRARY FILE...
    start=$(date +%s.%N)
    "$gemkv" index -q -m "$model" -t "$threads" "$@"
    took=$(awk "BEGIN { printf \"%.1f\", $(date +%s.%N) - $start }")
    size=$(du -s -B1 "$1" | cut -f1)
    "$gemkv" index --list --json "$1" | grep -o '"tokens": *[0-9]*' |
        awk -v took="$took" -v size="$size" '{ n += $2; d++ }
            END { printf "%d documents, %d tokens: indexed in %.1f s, %.0f bytes per token\n", d, n, took, size / n }'
}

ask() {         # LIBRARY NUMBER: seconds to the first token, of the first pass, of all, the first document
    start=$(date +%s.%N)
    "$gemkv" ask --json -q -m "$model" -t "$threads" -k "$keep" -n 12 --device cpu -L "$1" \
        "What is the keeper of lighthouse $2 called?" >"$scratch/answer"
    python3 - "$scratch/answer" "$start" "$(date +%s.%N)" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
best = max(r['kept'], key=lambda k: k['score'])
print('%.3f %.3f %.3f' % (r['seconds']['ttft'], r['seconds']['first'], float(sys.argv[3]) - float(sys.argv[2])),
      r['tokens']['documents'] if 'documents' in r['tokens'] else r['tokens']['prompt'], best['document'].split('/')[-1], r['answer'])
END
}

index "$scratch/library" "$scratch"/many/*.txt
index "$scratch/one" "$scratch/long.txt"
for library in library one; do
    ask "$scratch/$library" 7 >/dev/null
    for i in 1 2 3 4 5; do
        ask "$scratch/$library" 7
    done | sort -n | sed -n "3s/^/$library: first token, first pass, whole program (s), tokens asked, document, answer: /p"
done
