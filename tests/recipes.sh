#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# recipes.sh - what data/recipes has is run: GNU parallel, Slurm, mpirun, Kubernetes (without Kubernetes), Dask.  Each
# answers rows about three documents, one of them bad, in parts; the parts joined are what one gemkv batch writes.
#
#     PYTHON=~/venv/bin/python tests/recipes.sh       for Dask: a Python with distributed, for Kubernetes with yaml
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
skip() { echo "1..0 # SKIP $*"; exit; }
test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 || skip "big-endian machine: no model can be read"
test -z "$EMULATOR$MKMODEL" || skip "under an emulator"
recipes=$src/data/recipes python=${PYTHON:-python3}

scratch=$(mktemp -d) || exit 99
daemons=''
clean() {
    # shellcheck disable=SC2086
    test -z "$daemons" || { kill $daemons 2>/dev/null; wait $daemons; }
    rm -rf "$scratch"
}
trap clean EXIT
trap 'exit 99' HUP INT TERM
"$build/tests/mkmodel" "$scratch/tiny.gguf" || { echo "Bail out! no model"; exit 99; }
PATH=${GEMKV_BINDIR:-$build}:$PATH GEMKV_MODEL=$scratch/tiny.gguf GEMKV_CPU=ref GEMKV_PLUGIN_DIR=/nowhere LC_ALL=C
OMP_WAIT_POLICY=passive XDG_DATA_HOME=$scratch/data
export PATH GEMKV_MODEL GEMKV_CPU GEMKV_PLUGIN_DIR LC_ALL OMP_WAIT_POLICY XDG_DATA_HOME
unset SLURM_ARRAY_TASK_ID JOB_COMPLETION_INDEX OMPI_COMM_WORLD_RANK PMI_RANK PARALLEL JOBS MPIRUN PARTS
cd "$scratch" || exit 99

for d in 1 2 3; do
    awk -v d=$d 'BEGIN { for (i = 0; i < 4; i++) print "Line " i " of " d ": the cat sat on mat " i * d "." }' >doc$d
done
awk 'BEGIN {
    for (i = 1; i <= 8; i++)
        print "{\"id\": \"q" i "\", \"file\": \"doc" i % 4 "\", \"question\": \"What is mat " i "?\"}"
    print "{\"id\": \"half"
}' >rows
same() {
    sed 's/, "seconds": {[^}]*}//g; s/, "draft": {[^}]*}//g; s/, "memory": {[^}]*}//g
         s/, "schedule_reason": "[^"]*"//g' "$@"
}
gemkv batch -q -k 96 -n 4 -t 1 --in rows --out one || test $? = 6 || exit 99
gemkv batch -q --merge whole --in rows one
same whole >want

n=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
bad() { n=$((n + 1)); sed 's/^/# /' log; echo "not ok $n - $1"; }
left_out() { n=$((n + 1)); echo "ok $n - $1 # SKIP $2"; }
# The answers of the recipe are those of one run, and its parts have their files.
check() {       # NAME ANSWERS
    if same "$2" | cmp - want >>log 2>&1 && test -s "$2.1" && test -s "$2.2"; then ok "$1"; else bad "$1"; fi
}
echo 1..6

# ---- GNU parallel, on this machine ----
if parallel --version 2>/dev/null | grep -q '^GNU parallel'; then
    HOME=$scratch "$recipes/batch-parallel.sh" rows p 3 -k 96 -n 4 >log 2>&1
    echo "status $?" >>log
    check "GNU parallel" p
else
    left_out "GNU parallel" "no GNU parallel"
fi

# ---- mpirun ----
mpirun=mpirun
if mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
    mpirun="mpirun --oversubscribe --allow-run-as-root"
fi
if command -v mpirun >/dev/null; then
    MPIRUN=$mpirun "$recipes/batch-mpirun.sh" rows m 3 -k 96 -n 4 >log 2>&1
    echo "status $?" >>log
    check "mpirun" m
else
    left_out "mpirun" "no mpirun"
fi

# ---- Slurm: a cluster of this machine ----
sbin() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" 2>/dev/null; }
slurm() {       # starts one, or says why there is none
    test "$(id -u)" = 0 || { echo "not root"; return; }
    for program in munged slurmctld slurmd sbatch squeue; do
        test "$(sbin $program)" || { echo "no $program"; return; }
    done
    mkdir -p slurm/state slurm/spool
    chmod 755 "$scratch" slurm
    dd if=/dev/urandom of=slurm/key bs=1024 count=1 2>/dev/null
    chmod 400 slurm/key
    "$(sbin munged)" --foreground --force --key-file="$PWD/slurm/key" --socket="$PWD/slurm/munge" --num-threads=2 \
        --pid-file="$PWD/slurm/munged.pid" --seed-file="$PWD/slurm/seed" --log-file="$PWD/slurm/munged.log" \
        >slurm/out 2>&1 &
    daemons="$daemons $!"
    ports=$((20000 + $$ % 10000))
    cat >slurm/slurm.conf <<C
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$PWD/slurm/munge
CredType=cred/munge
SlurmctldPort=$ports
SlurmdPort=$((ports + 1))
SlurmctldPidFile=$PWD/slurm/slurmctld.pid
SlurmdPidFile=$PWD/slurm/slurmd.pid
SlurmctldLogFile=$PWD/slurm/slurmctld.log
SlurmdLogFile=$PWD/slurm/slurmd.log
StateSaveLocation=$PWD/slurm/state
SlurmdSpoolDir=$PWD/slurm/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP
C
    SLURM_CONF=$PWD/slurm/slurm.conf
    export SLURM_CONF
    "$(sbin slurmctld)" -D >slurm/ctld 2>&1 &
    daemons="$daemons $!"
    "$(sbin slurmd)" -D >slurm/d 2>&1 &
    daemons="$daemons $!"
    for i in $(seq 100); do
        sinfo -h -o %T 2>/dev/null | grep -q idle && return
        sleep 0.2
    done
    echo "its daemons do not come up: $(tail -qn 1 slurm/*.log slurm/out 2>/dev/null | tr '\n' ' ')"
}
# In this shell, for its variables.
slurm >why
if test -s why; then
    left_out "Slurm: an array" "$(cat why)"
    left_out "Slurm: two tasks of an array again" "$(cat why)"
else
    array() {   # waits for its end
        job=$(sbatch --parsable --output=log.%a --time=5 "$@") || return
        for i in $(seq 600); do
            test "$(squeue -h -j "$job" 2>/dev/null)" || break
            sleep 0.2
        done
    }
    array --array=1-3 "$recipes/batch-slurm.sh" rows s -k 96 -n 4 >log 2>&1
    cat log.* >>log
    gemkv batch --merge s --in rows s.1 s.2 s.3 >>log 2>&1
    check "Slurm: an array" s
    rm -f s s.1 s.3
    array --array=1,3 --export=ALL,PARTS=3 "$recipes/batch-slurm.sh" rows s -k 96 -n 4 >log 2>&1
    cat log.* >>log
    gemkv batch --merge s --in rows s.1 s.2 s.3 >>log 2>&1
    check "Slurm: two tasks of an array again" s
fi

# ---- Kubernetes: the manifest is sound, and its command does what it says ----
if "$python" -c 'import yaml' 2>/dev/null; then
    "$python" - "$recipes/batch-kubernetes.yaml" >log 2>&1 <<'P'
import re, sys, yaml
job = yaml.safe_load(open(sys.argv[1]))
try:
    import kubernetes_validate
    kubernetes_validate.validate(job, "1.28", strict=True)
    print("validated")
except ImportError:
    print("no kubernetes_validate")
spec = job["spec"]
pod = spec["template"]["spec"]
assert (job["apiVersion"], job["kind"]) == ("batch/v1", "Job") and spec["completionMode"] == "Indexed"
assert pod["restartPolicy"] == "Never"
c, = pod["containers"]
assert {m["name"] for m in c["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
assert c["workingDir"] == c["volumeMounts"][0]["mountPath"]
shell, flag, command = c["command"]
assert (shell, flag) == ("sh", "-c")
assert f"--shard /{spec['completions']} " in command and spec["parallelism"] <= spec["completions"]
open("command", "w").write(command)
P
    if test $? != 0; then
        bad "Kubernetes"
    else
        mkdir k8s
        cp doc? k8s
        cp rows k8s/rows.jsonl
        for i in $(seq 0 15); do
            (cd k8s && JOB_COMPLETION_INDEX=$i sh -c "$(sed 's/-t 1/-t 1 -k 96 -n 4/' ../command)" >>../log 2>&1) ||
                echo "status $?" >>log
        done
        gemkv batch --merge k8s/answers.jsonl --in k8s/rows.jsonl k8s/answers.jsonl.* >>log 2>&1
        set -- k8s/answers.jsonl.*
        if same k8s/answers.jsonl | cmp - want >>log 2>&1 && ! grep -q '^status' log && test $# = 16
        then ok "Kubernetes"; else bad "Kubernetes"; fi
    fi
else
    left_out "Kubernetes" "no yaml in $python"
fi

# ---- Dask: a cluster of this machine ----
if case "$CFLAGS $CC" in *-fsanitize*) false;; esac && test -f "$build/.libs/libgemkv.so" &&
    "$python" -c 'import sys, distributed; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    GEMKV_LIBRARY=$build/.libs/libgemkv.so PYTHONPATH=$src/python PYTHONDONTWRITEBYTECODE=1
    export GEMKV_LIBRARY PYTHONPATH PYTHONDONTWRITEBYTECODE
    sed 's/}$/, "keep": 96, "max_tokens": 4}/' rows >rows.dask
    "$python" "$recipes/batch-dask.py" rows.dask d >log 2>&1
    # Again, after a part of it was lost.
    head -c -20 d >cut
    "$python" "$recipes/batch-dask.py" rows.dask cut >>log 2>&1
    "$python" - whole d cut >>log 2>&1 <<'P'
import json, sys
whole, d, cut = ({r["id"]: r.get("answer") for r in map(json.loads, open(f, encoding="utf-8"))} for f in sys.argv[1:])
assert d == whole, (d, whole)
assert cut == whole and sum(1 for _ in open("cut", encoding="utf-8")) == 9, cut
P
    if test $? = 0; then ok "Dask"; else bad "Dask"; fi
else
    left_out "Dask" "no Python 3.11 with distributed, or no shared library"
fi
