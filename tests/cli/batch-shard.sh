# SPDX-License-Identifier: BSD-2-Clause
# Parts: every row is in one, those of a document are together, and joined they are what one run writes.
unset SLURM_ARRAY_TASK_ID JOB_COMPLETION_INDEX OMPI_COMM_WORLD_RANK PMI_RANK
batch_rows >rows
batch="batch $small -t 1 --in rows"
gemkv $batch -q --out one
echo "[$?]"
for i in 1 2 3 4; do
    gemkv $batch --shard $i/4 --out 'part.%s' 2>err
    echo "[$?] $(sed -n 1p err)"
done
gemkv batch --merge all --in rows part.1 part.2 part.3 part.4 2>&1 | tail -n 1
gemkv batch -q --merge alone --in rows one
batch_same alone >want
batch_same all | cmp - want && echo "parts are the whole"
cut -d, -f2 all | sort -c -t: -k2n && echo "in the order of the rows"
for i in 1 2 3 4; do
    sed -n "s/.*\"document\": \"\(doc[0-9]\)\", \"start.*/\1/p" part.$i | sort -u
done | sort | uniq -d
# shards of which most have nothing
head -n 2 rows >two
for i in 1 5 9; do gemkv batch $small -t 1 --in two --shard $i/9 --out few.$i 2>&1; echo "[$?]"; done

# who starts it says which part it is
part() { env "$@" gemkv batch $small -t 1 --in rows --out none/none $shard 2>&1 | grep -v "none/none"; }
shard=
part SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=8 SLURM_ARRAY_TASK_COUNT=0
part SLURM_ARRAY_TASK_ID=7
part SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_COUNT=2
part SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=6 SLURM_ARRAY_TASK_COUNT=2
part JOB_COMPLETION_INDEX=2
part OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_COUNT=2
part OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=3
shard='--shard /4'
part OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=3
part A=1
for shard in 0/4 5/4 4 a/4 1/0 1/4x -1/4 ''; do t batch --in rows --shard "$shard" 2>&1; done
named() {       # VARIABLE=VALUE... -- OPTION...
    variables=
    while test "$1" != --; do variables="$variables $1"; shift; done
    shift
    rm -f named.*
    env $variables gemkv batch -k 96 -n 2 -t 1 --in two --out named.%s "$@" 2>&1 | head -n 1
    ls named.*
}
named SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=9 SLURM_ARRAY_TASK_STEP=2 SLURM_ARRAY_TASK_COUNT=3 --
named SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_MIN=0 SLURM_ARRAY_TASK_MAX=3 SLURM_ARRAY_TASK_COUNT=4 --
named JOB_COMPLETION_INDEX=0 -- --shard /3
named OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=0 PMI_SIZE=2 --
named PMI_RANK=1 PMI_SIZE=2 --
named PMI_RANK=0 PMI_SIZE=1 --
named JOB_COMPLETION_INDEX=0 SLURM_ARRAY_TASK_ID=0 -- --shard 2/2

# what is wrong with parts is said
merge() {
    rm -f all
    gemkv batch --merge all --in rows "$@" 2>&1
    echo "[$?] $(cat all 2>/dev/null | wc -l | tr -d ' ')"
}
head -n 5 one >first
merge first | grep -v ': "q' | grep -v ': [0-9]'
merge first | grep -c '^missing: "q'
merge one one | grep -v '^failed\|^answered more than once: "q'
sed 's/"answer": "/&x/' first >differs
merge one differs | grep -v '^failed'
sed 's/"run": "./&0/' first >runs
merge one runs | grep -v '^failed\|^answered more than once: "q'
sed 's/"id": "q/"id": "z/' first >strange
merge one strange | grep -v '^failed'
sed 's/"row": "./&0/' first >old
merge old | grep -c 'row is another by now'
{ cat first; printf '{"id": "q9", "li'; } >broken
merge broken | grep 'no end'
printf 'a year of work\n' >foreign
merge foreign
merge nowhere
# an error of one part and the answer of another
sed 's/"question".*/"error": "late", "status": 1}/' first >errors
merge errors one | grep -v '^failed'
merge one errors | grep -v '^failed'
merge one >/dev/null
t batch --merge all --in rows one 2>&1
t batch -q --merge all --force --in rows one
batch_same all | cmp - want && echo "again the whole"
