#!/usr/bin/env bash
# Step 6, four times at once: a sitting on each of four GPUs, from the same file and until the same TIME (seconds since
# 1970), so that means.py can look at their means. Run in the repository's root:
#
#   bash data/train/sittings.sh TIME WORK
#
# WORK has start.gguf, the file to go on from; out, the folder of steps 1 to 5 with data.npz, vocabulary.json and held.
# A sitting writes WORK/ckpt/NUMBER and goes on when this script has ended. In the environment: GPUS, which sittings
# (default "1 2 3 4"; the first one is on device 0), EXTRA, further options for all of them, WORKERS, and SEED, to which
# the number is added.
set -euo pipefail
until=$1 work=$2 train=$(cd "$(dirname "$0")" && pwd)
export PYTHONPATH=$work/site OMP_NUM_THREADS=1 TORCHINDUCTOR_COMPILE_THREADS=6 TORCHINDUCTOR_CACHE_DIR=$work/inductor

# The sixth sitting's phases, and more of the time for long rows.
usual="0.35:1024*3,4096*2 0.65:1024*4,4096*4,16384*2,32768*0.7 1:1024*7,4096*6,16384*3,32768*2,65536*2,131072*1.5"
longer="0.3:1024*3,4096*2 0.6:1024*4,4096*4,16384*2,32768,65536*0.5 1:1024*6,4096*5,16384*4,32768*3,65536*3,131072*2.5"

sitting() { # NUMBER REFUSALS PHASES [OPTION...]
  local n=$1 refusals=$2 phases=$3
  shift 3
  mkdir -p "$work/ckpt/$n"
  # shellcheck disable=SC2086
  CUDA_VISIBLE_DEVICES=$((n - 1)) setsid nohup python3 "$train/train.py" --data "$work/out" --held "$work/out/held" \
    --init "$work/start.gguf" --out "$work/ckpt/$n" --until "$until" --seed "$((${SEED:-200} + n))" --refusals "$refusals" \
    --workers "${WORKERS:-3}" --tokens 131072 --save 150 --mean 0.55 --drop 0.15 --text 0.3 --question-weight 0.03 \
    --level 0.35 --phases "$phases" "$@" ${EXTRA:-} >"$work/ckpt/$n/out.txt" 2>&1 </dev/null &
  echo "$n $!"
}

for n in ${GPUS:-1 2 3 4}; do
  case $n in
    1) sitting 1 1 "$usual" ;;
    2) sitting 2 1.5 "$usual" ;;
    3) sitting 3 2 "$usual" --drop 0.18 ;;
    4) sitting 4 1.5 "$longer" ;;
  esac
done
