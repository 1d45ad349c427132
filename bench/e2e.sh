#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Time and peak memory of whole questions, method beside method, alternating.
#
#     bench/e2e.sh [-n RUNS] [-m MODEL] [-s SCHEDULE] [-t THREADS] [-o FILE] DOCUMENT QUESTION METHOD...
#
# One line per run (what time(1) would say, and what gemkv says of itself), then the medians.
# -o appends each run to FILE, a table of results (record.py).  Run it with nothing else on the machine.
set -eu
called=$(echo "bench/e2e.sh $*" | sed 's| [^ ]*/| |g')     # without folders
runs=1 model= schedule= threads= table=
while getopts n:m:s:t:o: o; do
  case $o in
  n) runs=$OPTARG;; m) model="-m $OPTARG";; s) schedule="--schedule $OPTARG";; t) threads="-t $OPTARG";; o) table=$OPTARG;;
  *) exit 2;;
  esac
done
shift $((OPTIND - 1))
doc=$1 question=$2
shift 2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
gemkv=${GEMKV:-./gemkv}

field() { printf '%s' "$json" | sed -n "s/.*\"$1\": *\([^,}]*\).*/\1/p"; }
record() {      # WHAT VALUE UNIT of the run in $json
  name=$(basename "$(printf '%s' "${model:-gemkv-mini-q8_0}" | sed 's/^-m //')" .gguf)
  "$(dirname "$0")/record.py" "$table" threads="${threads#-t }" what="$m: $1" model="$name" command="$called" \
    value="$2" unit="$3" note="$(field prompt) tokens, first pass $(printf %.2f "$(field first)") s, predicted $(field predicted) bytes"
}

printf '%-28s %9s %9s %9s %9s %9s  %s\n' method 'first s' 'second s' 'ttft s' 'peak MB' 'pred MB' answer
i=0
while test $i -lt "$runs"; do
  for m; do
    # shellcheck disable=SC2086
    json=$("$gemkv" ask $model $schedule $threads --json --method "$m" -f "$doc" "$question")
    printf '%-28s %9.2f %9.2f %9.2f %9.1f %9.1f  %s\n' "$m" "$(field first)" "$(field second)" \
      "$(field ttft)" "$(($(field peak) / 1000000))" \
      "$(($(field predicted) / 1000000))" "$(printf %s "$json" | sed -n 's/^{"answer": "\([^"]*\)".*/\1/p')" | tee -a "$out"
    test -z "$table" || {
      record "first token" "$(printf %.2f "$(field ttft)")" s
      record "peak memory" "$(($(field peak) / 1000000))" MB
    }
  done
  i=$((i + 1))
done
test "$runs" = 1 || {
  echo "medians of $runs:"
  for m; do
    for f in 2 3 4 5; do
      awk -v m="$m" -v f=$f '$1 == m { print $f }' "$out" | sort -n | sed -n "$(((runs + 1) / 2))p"
    done | paste -s -d' ' - | awk -v m="$m" '{ printf "%-28s %9.2f %9.2f %9.2f %9.1f\n", m, $1, $2, $3, $4 }'
  done
}
