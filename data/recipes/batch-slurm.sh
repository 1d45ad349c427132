#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# batch-slurm.sh - gemkv batch as a Slurm job array: each task does the part that its number says
#
#     sbatch --array=1-16 batch-slurm.sh ROWS ANSWERS [OPTION...]
#
# and when all have ended, also where some have failed:
#
#     gemkv batch --merge ANSWERS --in ROWS ANSWERS.*
#
# To do tasks 3 and 7 of 16 again, Slurm has to be told of how many, as an array of two does not say it:
#
#     sbatch --array=3,7 --export=ALL,PARTS=16 batch-slurm.sh ROWS ANSWERS [OPTION...]
#
#SBATCH --job-name=gemkv-batch
#SBATCH --cpus-per-task=1
#SBATCH --requeue
set -eu
rows=$1 answers=$2
shift 2

# A task that is requeued goes on where it was.  Status 6 says that rows have failed, which are lines of the output.
gemkv batch --in "$rows" --out "$answers.%s" -t "${SLURM_CPUS_PER_TASK:-1}" \
    ${PARTS:+--shard "$SLURM_ARRAY_TASK_ID/$PARTS"} "$@" || test $? = 6
