#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Time and peak memory of whole questions, method beside method, alternating.
#
#     bench/e2e.sh [-n RUNS] [-m MODEL] DOCUMENT QUESTION METHOD...
#
# One line per run (what time(1) would say, and what gemkv says of itself), then the medians.
# Run it with nothing else on the machine.
set -eu
runs=1 model=
while getopts n:m: o; do
  case $o in n) runs=$OPTARG;; m) model="-m $OPTARG";; *) exit 2;; esac
done
shift $((OPTIND - 1))
doc=$1 question=$2
shift 2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
gemkv=${GEMKV:-./gemkv}

field() { printf '%s' "$json" | sed -n "s/.*\"$1\": *\([^,}]*\).*/\1/p"; }
printf '%-28s %9s %9s %9s %9s %9s  %s\n' method 'first s' 'second s' 'ttft s' 'peak MB' 'pred MB' answer
i=0
while test $i -lt "$runs"; do
  for m; do
    # shellcheck disable=SC2086
    json=$("$gemkv" ask $model --json --method "$m" -f "$doc" "$question")
    printf '%-28s %9.2f %9.2f %9.2f %9.1f %9.1f  %s\n' "$m" "$(field first)" "$(field second)" \
      "$(field ttft)" "$(($(field peak) / 1000000))" \
      "$(($(field predicted) / 1000000))" "$(printf %s "$json" | sed -n 's/^{"answer": "\([^"]*\)".*/\1/p')" | tee -a "$out"
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
