#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# batch-parallel.sh - gemkv batch in several parts with GNU parallel
#
#     batch-parallel.sh ROWS ANSWERS PARTS [OPTION...]
#
# Each part has a core and its share of the memory.  If it is stopped, give the same command again.
# On several machines that share their files: PARALLEL='--sshloginfile hosts --env ROWS --env ANSWERS --env PARTS
# --env OPTIONS --wd .', with as many parts as there are cores in all.
set -eu
ROWS=$1 ANSWERS=$2 PARTS=$3
shift 3
OPTIONS=$*                      # without blanks in them
export ROWS ANSWERS PARTS OPTIONS

# What ends with 6 is done: its rows that failed are lines, which another try does not change.
# shellcheck disable=SC2016
seq "$PARTS" | parallel --jobs "${JOBS:-$PARTS}" --retries 3 --line-buffer \
    'gemkv batch --in "$ROWS" --out "$ANSWERS.{}" --shard "{}/$PARTS" -t 1 $OPTIONS || test $? = 6'

set --
for i in $(seq "$PARTS"); do set -- "$@" "$ANSWERS.$i"; done
gemkv batch --merge "$ANSWERS" --force --in "$ROWS" "$@"
