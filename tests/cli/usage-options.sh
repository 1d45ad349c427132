# SPDX-License-Identifier: BSD-2-Clause
t ask
t ask -f text
t ask -f text one two
t ask -f - -f - question
t ask --nope question
t ask -Z question
t ask --keep
t ask -k
t ask --json=yes question
t ask --ke 3 question
t info one.gguf two.gguf
t tokenize one two
t tokenize -f text two
