# SPDX-License-Identifier: BSD-2-Clause
# The second pass on a device: gpu/null, which fails where it is told to.  With f16 weights and products
# in f32 its answers equal those of the CPU.
test -f "$plugins/gemkv-null.so" || skip "no shared libraries in this build"
GEMKV_PLUGIN_DIR=$plugins
export GEMKV_PLUGIN_DIR
ask() { gemkv ask -f text -k 80 -n 8 "$@" "What is the pass key?"; }
ask -q --device cpu >cpu
same() { cmp -s - cpu && echo "same answer: $*"; }
device() { sed -n 's/.*\("device": "[^"]*"\).*/\1/p'; }

ask -q --device null | same null
ask -q --device null:1 | same null:1
GEMKV_NULL_RESIDENT=2 ask -q --device null | same null, not all layers there
GEMKV_NULL_BLOCK=7 ask -q --device null | same blocks of 7
GEMKV_NULL_SLEEP=5 ask -q --device null | same slow upload
ask --device null --json | sed 's/.*\("device":.*\), "cpu":.*/\1/' | mask
ask --device null -v 2>&1 >/dev/null | grep -e 'on null' -e 'upload' | mask

# sampling needs logits, not the best token
ask -q --device cpu --temperature 1 --seed 7 >sampled
ask -q --device null --temperature 1 --seed 7 | cmp - sampled && echo "same samples"

# failures before the upload: an error, if the device was named
for at in count describe open plan; do
    GEMKV_NULL_FAIL=$at ask --device null -q
    echo "[$?] $at"
done
GEMKV_NULL_ABI=99 ask --device null -q 2>err
echo "[$?] another ABI"
sed 's/: \/.*\//: .../' err
ask --device null:2 -q; echo "[$?] null:2"
ask --device null --gpu-memory 1K -q; echo "[$?] little memory"
ask --device null --kv-type bf16 -q; echo "[$?] bf16"
ask --device nil -q; echo "[$?] nil"
GEMKV_PLUGIN_DIR=/nowhere ask --device cuda -q; echo "[$?] cuda"
GEMKV_PLUGIN_DIR=. ask --device null -q; echo "[$?] a folder that is not absolute"

# ... with --device auto the CPU, and -v gives the reason
mkdir dir
cp "$plugins/gemkv-null.so" dir/gemkv-cuda.so
GEMKV_PLUGIN_DIR=$PWD/dir
ask --json | device
ask -q | same auto
for at in open plan; do
    GEMKV_NULL_FAIL=$at ask -v 2>err | same auto, $at
    grep -e warning -e 'on the CPU' err
done
GEMKV_NULL_FAIL=plan ask --json | device
GEMKV_NULL_RESIDENT=2 ask -v 2>&1 >/dev/null | grep 'on the CPU'
ask -v --kv-type bf16 2>&1 >/dev/null | grep 'on the CPU'
: >dir/gemkv-cuda.so
ask -q | same auto, a plugin that is none

# failures after that: a warning, and the CPU takes over
GEMKV_PLUGIN_DIR=$plugins
for at in upload upload:7 ready begin prefill prefill:1 step step:5; do
    GEMKV_NULL_FAIL=$at ask --device null 2>err | same $at
    grep warning err
done
GEMKV_NULL_FAIL=step:3 ask --device null --json | device
GEMKV_NULL_FAIL=step:3 ask --device null --json | sed 's/.*\("warning": "[^"]*"\).*/\1/'

# a run that is stopped during the upload ends soon
GEMKV_NULL_SLEEP=400 timeout 8 gemkv ask -q -f text -k 3 --device null question 2>err
echo "[$?] refused while uploading"

# questions of an evaluation
echo '{"context": "The pass key is 48213.", "question": "What is the pass key?", "answers": ["48213"]}' >rows
one() { gemkv eval qa --data rows --method full -n 4 "$@" >/dev/null; }
for d in cpu null; do
    one -q --device $d --out $d.jsonl
    sed 's/.*"answer": \("[^"]*"\).*/\1/' $d.jsonl >$d.answer
done
cmp cpu.answer null.answer && echo "eval: the same answer"
one -q --device null --out cpu.jsonl; echo "[$?] eval, an answer kept that the CPU gave"
GEMKV_NULL_FAIL=open one --device null; echo "[$?] eval, no device"
one --device null --gpu-memory 1K; echo "[$?] eval, no room there"
one -q --device nil; echo "[$?] eval, nil"

# select needs no device
gemkv select --device null -f text -k 200 "What is the pass key?" --json | device
gemkv info --devices | sed "s|$plugins|...|"

# methods of one pass: what they kept is copied after the first token, and the CPU goes on from it if that fails
for method in snapkv fastkv pyramidinfer finch h2o; do
    ask -q --method $method --device cpu >cpu
    ask -q --method $method --device null | same null, $method
done
ask --method snapkv --device null --json | device
ask -q --method snapkv --device cpu >cpu
for at in keys keys:3 begin step step:5; do
    GEMKV_NULL_FAIL=$at ask --method snapkv --device null 2>err | same snapkv, $at
    grep warning err
done
for method in h2o:evict=step streamingllm-online; do
    ask --method $method --device null 2>&1 >/dev/null | grep 'warning'
    ask --method $method --device null --json | device
done

# other architectures, one with experts and two whose layers have a state
for arch in qwen2 gemma2 qwen3moe qwen35 lfm2; do
    "$mkmodel" --arch=$arch $arch.gguf
    ask -q -m $arch.gguf --device cpu >cpu
    ask -q -m $arch.gguf --device null | same null, $arch
done
