#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# batch-mpirun.sh - gemkv batch with mpirun of Open MPI or MPICH: documents go to whichever rank is free
#
#     batch-mpirun.sh ROWS ANSWERS RANKS [OPTION...]
#
# $MPIRUN may have options, such as "mpirun --hostfile hosts"; the machines share their files.
set -eu
rows=$1 answers=$2 ranks=$3
shift 3

# mpirun ends all ranks when one returns something else than 0; 6 says that rows have failed, which are lines.
# shellcheck disable=SC2016,SC2086
${MPIRUN:-mpirun} -n "$ranks" sh -c 'gemkv batch "$@" || test $? = 6' sh \
    --in "$rows" --out "$answers.%s" -t 1 "$@"

set --
for i in $(seq "$ranks"); do set -- "$@" "$answers.$i"; done
gemkv batch --merge "$answers" --force --in "$rows" "$@"
