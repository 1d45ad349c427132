#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# processes.sh [-r ROUNDS] [-s SCHEDULE] [-l LAYER] [-x MPIRUN] MODEL TEXT RANKSxTHREADS...
#
# How much of the machine a first pass uses that several processes compute together.  For each RANKSxTHREADS, in turns:
#   apart      as many processes at the same time, each of which reads the whole text alone
#   together   mpirun -n RANKS gemkv select -t THREADS
# Prints medians of the seconds of the first pass, with their range, and apart / (RANKS * together): 1 is all of it.
set -euo pipefail
rounds=3 schedule=layer layer= mpirun='mpirun --bind-to none'
while getopts r:s:l:x: o; do
    case $o in r) rounds=$OPTARG;; s) schedule=$OPTARG;; l) layer="--layer $OPTARG";; x) mpirun=$OPTARG;; *) exit 2;; esac
done
shift $((OPTIND - 1))
model=$1 text=$2
shift 2
gemkv=${GEMKV:-./gemkv}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

read_it() {     # THREADS COMMAND...: seconds of the first pass
    local threads=$1
    shift
    "$@" "$gemkv" select --json -t "$threads" --schedule "$schedule" $layer -k 1000 -m "$model" -f "$text" 'Who?' |
        sed -n 's/.*"first": \([0-9.]*\).*/\1/p'
}
apart() {       # RANKS THREADS: the mean of all, since they begin and end together
    for _ in $(seq "$1"); do
        read_it "$2" env &
    done | awk '{ s += $1 } END { print s / NR }'
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%.2f (%.2f - %.2f)", v[int((NR + 1) / 2)], v[1], v[NR] }'; }
middle() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

echo "$("$gemkv" --version), $schedule, $(basename "$model"), $(nproc) processors"
for _ in $(seq "$rounds"); do
    for way; do
        apart "${way%x*}" "${way#*x}" >>"$scratch/apart.$way"
        read_it "${way#*x}" $mpirun -n "${way%x*}" >>"$scratch/together.$way"
    done
done
for way; do
    printf '%s  apart %s  together %s  ' "$way" "$(median "$scratch/apart.$way")" "$(median "$scratch/together.$way")"
    awk -v n="${way%x*}" -v a="$(middle "$scratch/apart.$way")" -v t="$(middle "$scratch/together.$way")" \
        'BEGIN { printf "of the machine %.2f\n", a / (n * t) }'
done
