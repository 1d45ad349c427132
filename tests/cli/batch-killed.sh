# SPDX-License-Identifier: BSD-2-Clause
# Shards that are killed at any time, again and again, lose nothing, and repeat no row that is written.
command -v timeout >/dev/null || skip "no timeout"
unset SLURM_ARRAY_TASK_ID JOB_COMPLETION_INDEX OMPI_COMM_WORLD_RANK PMI_RANK
batch_rows | head -n 30 >rows
batch="batch -q -k 96 -n 8 -t 1 --in rows"
gemkv $batch --out one 2>/dev/null
gemkv batch -q --merge alone --in rows one
for i in 1 2 3; do
    kills=0 code=137
    while test $code != 6 && test $code != 0; do
        # later and later, so that it comes to its end on any machine
        after=$(awk -v i=$i -v k=$kills 'BEGIN { srand(100 * i + k); print 0.02 + (0.2 + 0.05 * k) * rand() }')
        timeout -s KILL "$after" gemkv $batch --shard $i/3 --out part.$i 2>/dev/null
        code=$?
        kills=$((kills + 1))
        # what a machine that breaks down may leave: the last line is cut
        test $((kills % 3)) != 0 || test $code != 137 || ! test -s part.$i || {
            n=$(tail -n 1 part.$i | wc -c)
            truncate -s -$((n * (kills % 7) / 8)) part.$i
        }
    done
    echo "[$code]"
done 2>/dev/null
gemkv batch --merge all --in rows part.1 part.2 part.3 2>&1 | tail -n 1
cat part.* | wc -l | tr -d ' '
batch_same alone >want
batch_same all | cmp - want && echo "as if it had not been killed"
