# SPDX-License-Identifier: BSD-2-Clause
# mask what depends on this machine
here() { sed '/ tokens: .*schedule/s/: .* (schedule.*/: N/; s/of .* that can/of N that can/; s/"fits": \[.*\]/"fits": [N]/'; }
gemkv info tiny.gguf | here
gemkv info -m tiny.gguf --json | here
gemkv info tiny.gguf | grep -c ' tokens: .*, fits (schedule '
gemkv info tiny.gguf --json | grep -o '"fits": true' | wc -l
gemkv info --cpu | head -n 1
# at this level every kernel is of it
GEMKV_CPU=ref gemkv info --cpu | sed '/^threads/,$d' | grep -vc 'ref$'
gemkv info --cpu --json | sed 's/"kernels": {"[^}]*}/"kernels": {K}/' |
    sed 's/"gemm": {[^}]*}/"gemm": {G}/; s/"threads": {"[^}]*}/"threads": {T}/'
gemkv info --memory | mask | sed 's/  */ /g'
gemkv info --memory -c 1000,2000 --json | sed 's/.*"memory"/"memory"/; s/"bytes": [0-9]*/"bytes": N/g'
# more tokens need more memory
n() { gemkv info --memory --json "$@" | tr '{' '\n' | sed -n 's/^"method": "gemfilter".*"bytes": \([0-9]*\).*/\1/p' | head -n 1; }
test "$(n -c 100000)" -lt "$(n -c 200000)" && echo "tokens"
# nothing is printed before a refusal
t info --memory --json --kv-type q8_0
# how long 100 pages take
gemkv info --speed | sed -n '$s/about [0-9]* [a-z]*/about N/p'
gemkv info --speed --json | grep -o '"seconds_100_pages": [1-9]' | sed 's/[1-9]$/N/'
gemkv info --speed --cpu --json | grep -o '"seconds_100_pages": [1-9]' | sed 's/[1-9]$/N/'
t info --speed --memory
# layers that attend, and the refusal of another as the filter layer
"$mkmodel" --arch=lfm2 lfm2.gguf
gemkv info lfm2.gguf | grep -E -A1 "^(family|can filter|filter|methods)"
gemkv info lfm2.gguf --json | grep -o '"refused.*'
echo hello > lfm2.txt
t ask --layer 2 -m lfm2.gguf -f lfm2.txt "who?"
