#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# batch.sh - gemkv batch with one shard beside several, each with one core
#
#     bench/batch.sh [-s SHARDS] [-d DOCUMENTS] [-b BYTES] [-q QUESTIONS] [-r ROUNDS] [-k N] MODEL.gguf TEXT
#
# Asks QUESTIONS (2) about each of so many documents for each shard (4), of so many bytes (20,000) of TEXT: all rows by
# one process on the first core, then by SHARDS (2) processes at once, each on a core of its own, in turns, ROUNDS (3)
# times.  Prints the shortest of each, with the start of the processes, and how much of the ideal the shards reach: the
# time of one, divided by their number.  Says whether both gave the same answers.  Run it with nothing else on the
# machine, whose cores should not share what they compute with: two threads of a core are not two.
set -eu
LC_ALL=C
export LC_ALL
shards=2 documents=4 bytes=20000 questions=2 rounds=3 keep=512
gemkv=${GEMKV:-./gemkv}
usage() { sed -n '5,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
while getopts s:d:b:q:r:k: o; do
    case $o in
    s) shards=$OPTARG ;;
    d) documents=$OPTARG ;;
    b) bytes=$OPTARG ;;
    q) questions=$OPTARG ;;
    r) rounds=$OPTARG ;;
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

python3 - "$text" "$scratch" $((shards * documents)) "$bytes" "$questions" <<'END'
import json, sys
text, out, n, size, asks = open(sys.argv[1], "rb").read(), sys.argv[2], *map(int, sys.argv[3:])
with open(out + "/rows", "w") as rows:
    for i in range(n):
        at = i * max(len(text) - size, 0) // n
        open(f"{out}/doc{i}", "w").write(text[at : at + size].decode(errors="ignore"))
        for k in range(asks):
            print(json.dumps({"id": f"{i}-{k}", "file": f"{out}/doc{i}", "question": f"Who spoke of number {k}?"}),
                  file=rows)
END
cores=$(taskset -pc $$ | sed 's/.*: //' | tr , '\n' | awk -F- '{ for (i = $1; i <= (NF > 1 ? $2 : $1); i++) print i }')
test "$(echo "$cores" | wc -l)" -ge "$shards" || { echo "fewer than $shards cores" >&2; exit 1; }

# A shard on its core: part I of N.
part() {
    taskset -c "$(echo "$cores" | sed -n "$1p")" "$gemkv" batch -q -m "$model" -t 1 -k "$keep" -n 16 --device cpu \
        --memory 2G --in "$scratch/rows" --out "$scratch/out.$2.$1" --shard "$1/$2"
}
now() { date +%s.%N; }
seconds() {     # SHARDS: how long they take together
    began=$(now) pids='' code=0
    rm -f "$scratch/out.$1".*
    for i in $(seq "$1"); do
        part "$i" "$1" &
        pids="$pids $!"
    done
    for pid in $pids; do wait "$pid" || code=$?; done
    test $code = 0 || { echo "a shard ended with $code" >&2; exit 1; }
    echo "$began $(now)" | awk '{ printf "%.3f\n", $2 - $1 }'
}
answers() {
    "$gemkv" batch -q --merge "$scratch/all.$1" --force --in "$scratch/rows" "$scratch/out.$1".*
    sed 's/, "seconds": {[^}]*}//g; s/, "draft": {[^}]*}//g; s/, "memory": {[^}]*}//g; s/, "schedule_reason": "[^"]*"//g' \
        "$scratch/all.$1"
}

for round in $(seq "$rounds"); do
    seconds 1 >>"$scratch/one"
    seconds "$shards" >>"$scratch/many"
    echo "round $round: $(tail -n 1 "$scratch/one") s with 1, $(tail -n 1 "$scratch/many") s with $shards" >&2
done
answers 1 >"$scratch/a"
answers "$shards" >"$scratch/b"
cmp -s "$scratch/a" "$scratch/b" && same=yes || same=no
echo "shards,rows,seconds_1,seconds_n,of_ideal_percent,same_answers"
one=$(sort -g "$scratch/one" | head -n 1) many=$(sort -g "$scratch/many" | head -n 1)
echo "$shards $(wc -l <"$scratch/rows") $one $many $same" |
    awk '{ printf "%d,%d,%s,%s,%.1f,%s\n", $1, $2, $3, $4, 100 * $3 / ($1 * $4), $5 }'
