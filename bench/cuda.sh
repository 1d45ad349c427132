#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cuda.sh - a CUDA device beside the CPU: the same logits and answers, and how fast
#
#     ./configure --with-cuda && make && make tests/mkmodel bench/device bench/draft bench/cuda-peak
#     bench/cuda.sh [types] [archs] [answers] [guesses] [speed] [checked]
#
# BUILD (default .) is the build directory, MODELS (default /dev/shm) has room for 30 GB,
# DATA (default $BUILD/share/gemkv) the bundled model and document.  With TABLE=bench/results/MACHINE.csv
# what "speed" measures is appended there (record.py).
BUILD=$(cd "${BUILD:-.}" && pwd) || exit 1
MODELS=${MODELS:-/dev/shm}
DATA=${DATA:-$BUILD/share/gemkv}
GEMKV_PLUGIN_DIR=$BUILD/gpu/cuda
export GEMKV_PLUGIN_DIR
test $# -gt 0 || set -- types archs answers guesses speed checked
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

make_model() {  # NAME OPTIONS...
    file=$MODELS/$1.gguf
    shift
    test -f "$file" || "$BUILD/tests/mkmodel" "$@" "$file"
}

# Every type, and shapes with other kernels, against f32 products on the CPU.
types() {
    all=$("$BUILD/tests/mkmodel" --list-types)
    for t in $all; do
        make_model cuda-$t --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=64 --layers=3 \
            --vocab=1000 --type=$t
        "$BUILD/bench/device" compare "$MODELS/cuda-$t.gguf"
    done
    make_model cuda-d128 --embd=512 --ff=1536 --heads=4 --heads-kv=1 --head-dim=128 --layers=8 \
        --vocab=999 --type=mixed
    make_model cuda-d80 --embd=480 --ff=1024 --heads=6 --heads-kv=6 --head-dim=80 --layers=3 --type=f16
    make_model cuda-g7 --embd=512 --ff=1024 --heads=14 --heads-kv=2 --head-dim=128 --layers=3 \
        --type=q4_k_m --tied=1
    make_model cuda-tiny
    for m in d128 d80 g7 tiny; do
        "$BUILD/bench/device" compare "$MODELS/cuda-$m.gguf"
    done
    for t in $all q4_k_m; do
        make_model 1b-$t --shape=1b --type=$t &
    done
    wait
    for t in $all q4_k_m; do
        "$BUILD/bench/device" compare "$MODELS/1b-$t.gguf"
        case $t in q4_k_m | bf16) ;; *) rm "$MODELS/1b-$t.gguf" ;; esac
    done
    echo "layers streamed:"
    "$BUILD/bench/device" -g 100000000 compare "$MODELS/cuda-d128.gguf"
}

# Every architecture, and what the layers of each can have: rows are a name and mkmodel's options.
archs() {
    while read -r name options; do
        # shellcheck disable=SC2086
        make_model cuda-arch-$name $options
        "$BUILD/bench/device" compare "$MODELS/cuda-arch-$name.gguf" </dev/null
    done <<EOF
llama        --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=64 --rope-freqs=1 --type=q4_k_m
llama-linear --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --linear=4 --window=40
qwen2        --arch=qwen2 --embd=512 --ff=1024 --heads=14 --heads-kv=2 --head-dim=64 --type=q4_k_m
qwen2-128    --arch=qwen2 --embd=768 --ff=1024 --heads=7 --heads-kv=1 --head-dim=128 --type=q8_0
qwen3        --arch=qwen3 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --yarn=4 --type=q4_k_m
qwen3-64     --arch=qwen3 --embd=512 --ff=1024 --heads=2 --heads-kv=2 --head-dim=64 --type=bf16
phi3         --arch=phi3 --embd=768 --ff=1024 --heads=8 --heads-kv=8 --head-dim=96 --longrope=400 --window=99 --type=q4_k_m
phi3-long    --arch=phi3 --embd=768 --ff=1024 --heads=8 --heads-kv=8 --head-dim=96 --longrope=64 --window=262144
gemma2       --arch=gemma2 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=256 --window=32 --tied=1 --type=q4_k_m
gemma3       --arch=gemma3 --embd=512 --ff=1024 --heads=4 --heads-kv=1 --head-dim=256 --window=32 --linear=8 --layers=8
gemma3-16    --arch=gemma3 --window=70 --linear=8 --layers=7
smollm3      --arch=smollm3 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=64 --layers=5 --type=q6_k
olmo2        --arch=olmo2 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=128 --type=q4_k_m
olmo3        --arch=olmo2 --embd=512 --ff=1024 --heads=4 --heads-kv=4 --head-dim=128 --window=32 --yarn=4
mistral3     --arch=mistral3 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --yarn=4 --type=q4_k_m
granite      --arch=granite --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=64 --type=q4_k_m
glm4         --arch=glm4 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --type=q4_k_m
exaone4      --arch=exaone4 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --window=32 --type=q4_k_m
gemma4       --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=512 --window=32 --type=q4_k_m
gemma4-small --arch=gemma4 --window=32
gemma4-e2b   --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=128 --window=32 --sharing=2 --embd-layer=32
gemma4-moe   --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=128 --window=32 --experts=4 --used=2
qwen3moe     --arch=qwen3moe --embd=512 --ff=256 --heads=8 --heads-kv=2 --head-dim=128 --experts=16 --used=4 --type=q4_k_m
granitemoe   --arch=granitemoe --embd=512 --ff=256 --heads=8 --heads-kv=2 --head-dim=64 --experts=8 --used=2 --type=q8_0
llama4       --arch=llama4 --embd=512 --ff=256 --heads=8 --heads-kv=2 --head-dim=128 --experts=8 --used=1 --type=q4_k_m
gpt-oss      --arch=gpt-oss --embd=512 --ff=512 --heads=8 --heads-kv=2 --head-dim=64 --experts=8 --used=4 --type=q8_0
gpt-oss-mx   --arch=gpt-oss --embd=512 --ff=512 --heads=8 --heads-kv=2 --head-dim=64 --experts=8 --used=4 --type=mxfp4
gpt-oss-f16  --arch=gpt-oss --embd=512 --ff=512 --heads=8 --heads-kv=2 --head-dim=64 --experts=8 --used=4
qwen35       --arch=qwen35
qwen35moe    --arch=qwen35moe
qwen3next    --arch=qwen3next
granitehybrid --arch=granitehybrid
lfm2         --arch=lfm2
lfm2moe      --arch=lfm2moe
EOF
}

# Thirty questions to the bundled model, greedy, selection and answer.
answers() {
    head -c 24000 "$DATA/prophets-mantle.txt" >"$tmp/text"
    same=0 n=0
    for word in lantern mantle house city ship morning letter door king road money woman friend \
        night garden river church father mother brother doctor window fire table water horse \
        book voice hand street; do
        for device in cpu cuda; do
            "$BUILD/gemkv" ask -m "$DATA/gemkv-mini-q8_0.gguf" -f "$tmp/text" -k 512 -n 40 --gemm exact \
                --device $device --json "What is said about the $word?" |
                sed 's/^\({"answer": .*\), "method".*\("kept": .*\)/\1 \2/' >"$tmp/$device"
        done
        n=$((n + 1))
        cmp -s "$tmp/cpu" "$tmp/cuda" && test -s "$tmp/cpu" && same=$((same + 1))
    done
    echo "$same of $n answers are the same"
}

# Steps of a few tokens: the logits of steps of one, what they take, and answers with guessed tokens beside those without.
# --echo: a model that repeats a token, so that most guesses are right.
guesses() {
    for t in q4_k_m q8_0 q6_k bf16 f32; do
        make_model cuda-rows-$t --embd=1024 --ff=3072 --heads=8 --heads-kv=2 --head-dim=128 --layers=4 --vocab=9999 --type=$t
        "$BUILD/bench/device" compare "$MODELS/cuda-rows-$t.gguf"
    done
    make_model cuda-d128 --embd=512 --ff=1536 --heads=4 --heads-kv=1 --head-dim=128 --layers=8 \
        --vocab=999 --type=mixed
    echo "layers streamed:"
    "$BUILD/bench/device" -g 100000000 compare "$MODELS/cuda-d128.gguf"
    while read -r name options; do
        # shellcheck disable=SC2086
        make_model cuda-arch-$name $options
        "$BUILD/bench/device" compare "$MODELS/cuda-arch-$name.gguf" </dev/null
    done <<EOF
qwen3        --arch=qwen3 --embd=512 --ff=1024 --heads=8 --heads-kv=2 --head-dim=128 --yarn=4 --type=q4_k_m
gemma4       --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=512 --window=32 --type=q4_k_m
gemma4-e2b   --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=128 --window=32 --sharing=2 --embd-layer=32
gemma4-moe   --arch=gemma4 --embd=512 --ff=1024 --heads=4 --heads-kv=2 --head-dim=128 --window=32 --experts=4 --used=2
qwen3moe     --arch=qwen3moe --embd=512 --ff=256 --heads=8 --heads-kv=2 --head-dim=128 --experts=16 --used=4 --type=q4_k_m
gpt-oss-mx   --arch=gpt-oss --embd=512 --ff=512 --heads=8 --heads-kv=2 --head-dim=64 --experts=8 --used=4 --type=mxfp4
qwen35moe    --arch=qwen35moe
granitehybrid --arch=granitehybrid
EOF
    head -c 3000 "$DATA/prophets-mantle.txt" >"$tmp/text"
    for shape in ${SHAPES:-1b 8b}; do
        make_model echo-$shape --shape=$shape --type=q4_k_m --echo=1
        "$BUILD/bench/device" time 1024 "$MODELS/echo-$shape.gguf" | record bench/device
        for temperature in 0 0.8; do
            "$BUILD/bench/draft" "$MODELS/echo-$shape.gguf" "$tmp/text" "What is it?" $temperature 256 4 5 - cuda
        done
    done
    "$BUILD/bench/draft" "$DATA/gemkv-mini-q8_0.gguf" "$tmp/text" "Who is it about? Quote a line." 0 128 4 5 - cuda
}

# Standard input, and its figures as rows of the table.
record() {      # COMMAND
    if test -n "${TABLE-}"; then "$(dirname "$0")/record.py" "$TABLE" -- command="$1"; else cat; fi
}

# Ceilings of this device, and what is reached.
speed() {
    "$BUILD/bench/cuda-peak" | record bench/cuda-peak
    for shape in 1b 8b; do
        for t in q4_k_m bf16; do
            make_model $shape-$t --shape=$shape --type=$t
            "$BUILD/bench/device" time 1024,4096 "$MODELS/$shape-$t.gguf" | record bench/device
        done
    done
    head -c 3000 "$DATA/prophets-mantle.txt" >"$tmp/text"
    for t in q4_k_m bf16; do
        echo "8b-$t, a whole question:"
        "$BUILD/gemkv" ask -m "$MODELS/8b-$t.gguf" -f "$tmp/text" -k 1024 -n 8 --device cuda --json \
            "What is it?" | sed 's/.*\("upload": {[^}]*}\).*\("seconds": {"load[^}]*}\).*/\1 \2/'
    done
}

# racecheck does not follow how cuBLAS's kernels wait for each other, and reports those: own
# kernels must not be among what it names.  Limited to them, it fails itself.
checked() {
    for m in d128 g7 q5_k q3_k; do
        compute-sanitizer --tool memcheck "$BUILD/bench/device" compare "$MODELS/cuda-$m.gguf" | tail -n 1
    done
    compute-sanitizer --tool racecheck "$BUILD/bench/device" compare "$MODELS/cuda-g7.gguf" >"$tmp/race" 2>&1
    tail -n 1 "$tmp/race"
    grep -E 'gemv<|attend_|rows|rope|sort_|unpack|embed_|best_of' "$tmp/race" | sort | uniq -c
}

for part; do
    echo "== $part"
    "$part"
done
