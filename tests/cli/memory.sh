# SPDX-License-Identifier: BSD-2-Clause
# What is predicted is what a run takes: no more than 2 % above it, and not far below.
not_sanitized "it takes memory of its own"
unset GEMKV_CPU           # the fastest
unset MALLOC_PERTURB_     # it writes to what nobody else does
$mkmodel --embd=512 --layers=4 --heads=8 --head-dim=64 --ff=2048 --type=f32 large.gguf
for i in 1 2; do cat text; done >long
field() { sed "s/.*\"$1\": \([0-9]*\).*/\1/" out; }
try() {         # COMMAND OPTIONS
    gemkv "$1" --json -m large.gguf -t 1 -f long -k 200 -n 4 $2 $3 "What is the pass key?" >out || { echo "$*: failed"; return; }
    awk -v peak="$(field peak)" -v told="$(field predicted)" -v what="$*" 'BEGIN {
        if (peak > 1.02 * told || told > 1.1 * peak + 6e6)
            printf "%s: predicted %.1f MB, took %.1f MB\n", what, told / 1e6, peak / 1e6
    }'
}
for schedule in layer chunk stream stream:budget=200,refine=0; do
    try ask --schedule $schedule
    try select --schedule $schedule         # the first pass alone
done
for method in full truncate window random bm25 tfidf longllmlingua longllmlingua:score=contrast asl-2pass:lmin=2,lobs=2 gemfilter-onerun snapkv h2o streamingllm streamingllm-online pyramidinfer fastkv asl:lmin=2,lobs=2 finch; do
    try ask --method $method
done
for schedule in layer chunk; do try select "--schedule $schedule" "--attention sparse -t 2"; done
for schedule in layer chunk stream; do try ask --schedule $schedule --method gemfilter:refine=4; done
try ask --method asl-2pass:lmin=2,lobs=2,refine=4
for type in f32 f16 bf16 q8_0; do try ask --kv-type $type; done
try ask --gemm exact
echo "$(($(wc -c <large.gguf) / 1000000)) MB of weights"

# A layer that guesses is read, too.
$mkmodel --arch=glm4 --embd=512 --layers=8 --heads=8 --head-dim=64 --ff=2048 --type=f32 --nextn=1 --echo=1 large.gguf
for draft in 4 mtp; do try ask --draft "$draft -n 16"; field peak; done | paste - - |
    awk '{ print ($2 > $1 + 15e6 ? "and one layer more" : $0) }'
