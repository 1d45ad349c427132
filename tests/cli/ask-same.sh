# SPDX-License-Identifier: BSD-2-Clause
# The same bytes with one thread and two, streamed and in JSON.
gemkv ask -q -f text $small "What is the pass key?" | od -An -c
gemkv ask -q -f text $small -t 1 "What is the pass key?" >one
gemkv ask -q -f text $small -t 2 "What is the pass key?" >two
cmp one two && echo "threads"
gemkv ask -q -f text $small --temperature 0.8 --seed 7 q >one
gemkv ask -q -f text $small --temperature 0.8 --seed 7 q >two
cmp one two && echo "seed"
