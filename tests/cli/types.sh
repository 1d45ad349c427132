# SPDX-License-Identifier: BSD-2-Clause
# llama-quantize's mixtures at the depth of Llama 3.2 1B, and their fall-backs
types() { "$mkmodel" "$@" m.gguf && gemkv info m.gguf | sed -n 's/^types  *//p'; }
deep='--layers=16 --embd=256 --head-dim=64 --tied=1'
types --type=q4_k_m $deep
types --type=q5_k_m $deep
types --type=q4_k_m
types --type=q5_k_m
types --type=q2_k
# every type answers, with the kernels of this machine
for type in $("$mkmodel" --list-types); do
    "$mkmodel" --type=$type --embd=256 --layers=2 m.gguf
    GEMKV_CPU= gemkv ask -q -m m.gguf -f text $small 'Which key?' >answer || echo "$type: $?"
    test -s answer || echo "$type does not answer"
done
# a type that is known but not supported is refused by name
"$mkmodel" --break=type-q2_0 known.gguf
t info known.gguf
