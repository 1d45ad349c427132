# SPDX-License-Identifier: BSD-2-Clause
# Errors that only the library can find are usage errors too.
t ask -q -f text --layer 99 question
t ask -q -f text --template nope question
t ask -q -f text --method gemfilter:kernel=4 question
t ask -q -f text --top-p 0 question
t ask -q -f text --keep 3 question
t ask -q -f text --cpu nope question 2>err; sed 's/: ref.*/: .../' err >&2
GEMKV_CPU=nope t info --cpu 2>err; sed 's/: ref.*/: .../' err >&2
